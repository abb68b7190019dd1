from tensaur.cli.progress import progress


def test_lines_go_to_standard_error(capsys):
    with progress(quiet=False) as say:
        say("reading [model]")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(" s] reading [model]\n")


def test_quiet_says_nothing(capsys):
    with progress(quiet=True) as say:
        say("reading")
    assert capsys.readouterr().err == ""
