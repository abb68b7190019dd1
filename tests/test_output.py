import os
import stat

import pytest

from tensaur import output
from tensaur.errors import OutputError


def test_a_file_is_written_whole(tmp_path):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    output.write_beside(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_those_of_an_ordinary_new_file(tmp_path):
    ordinary, written = tmp_path / "ordinary", tmp_path / "written"
    ordinary.write_bytes(b"")
    output.write_beside(written, b"")
    assert stat.S_IMODE(os.stat(written).st_mode) == stat.S_IMODE(os.stat(ordinary).st_mode)


def test_checking_leaves_nothing_behind(tmp_path):
    output.check_writable(tmp_path / "out.bin")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "act", [output.check_writable, lambda path: output.write_beside(path, b"")]
)
def test_what_cannot_be_written_is_named(tmp_path, act):
    for path in (tmp_path / "missing" / "out.bin", tmp_path):
        with pytest.raises(OutputError, match=str(path)):
            act(path)
    assert list(tmp_path.iterdir()) == []


def test_the_place_of_a_device_is_not_taken(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="not a regular file"):
        output.check_writable(pipe)


def test_long_names_are_written(tmp_path):
    path = tmp_path / ("ä" * 120)
    output.write_beside(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_failing_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "replace", full)
    with pytest.raises(OutputError, match="no space left"):
        output.write_beside(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
