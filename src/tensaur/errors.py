"""Every exception class of Tensaur.

Messages are one line: the place, the values, and what was expected; lower case, no full stop.
A pattern that does not match and a limit that is reached are values, never exceptions.
"""


class TensaurError(Exception):
    """The base of every error that Tensaur raises on purpose."""


class ModelError(TensaurError):
    """The input model cannot be read, is invalid, or uses something in a way that ONNX forbids."""


class OutputError(TensaurError):
    """The result cannot be written where it was asked for."""


class UsageError(TensaurError):
    """An option or argument has a value that makes no sense."""


class TypeMismatch(TensaurError):
    """An operator was given inputs that it does not accept."""


class EmptySpace(TensaurError):
    """A window operator was given data without any position in space, which runtimes refuse."""


class RuleError(TensaurError):
    """A rule is malformed: an unbound variable, a wrong arity, an unknown attribute."""


class UnsoundRule(TensaurError):
    """Two terms that a rule set calls equal have contradictory types or values."""


class ExtractionError(TensaurError):
    """No graph can be extracted, or the costs handed to extraction are not usable."""


class FoldingFailure(ExtractionError):
    """A constant that should be computed before run time cannot be."""


class RuntimeFailure(TensaurError):
    """The runtime refused a model or failed while running it."""


class RuntimeRefusal(RuntimeFailure):
    """The runtime cannot open a model: an operator it has no kernel for, or a model it calls invalid."""


class StoreError(TensaurError):
    """A table of measured costs cannot be read, or the store of them cannot be used."""


class ParseError(TensaurError):
    """Text that should hold a graph or a term does not parse."""


_MESSAGE_LIMIT = 300
_CUT = " [...]"


def one_line(error: BaseException | str) -> str:
    """Return an error's message as one line of bounded length, its class where it has none."""
    text = " ".join(str(error).split())
    if len(text) > _MESSAGE_LIMIT:
        text = text[: _MESSAGE_LIMIT - len(_CUT)] + _CUT
    return text.rstrip(".") or type(error).__name__
