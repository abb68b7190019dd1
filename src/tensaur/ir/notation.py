"""Print and parse values: names, dimensions, types, elements of constants, and attribute values.

The lower half of the text form; `text` builds graphs and terms from it. Holds the tokens too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tensaur.errors import ParseError
from tensaur.ir.dims import (
    Atom,
    Dim,
    DimExpr,
    FloorDiv,
    Maximum,
    Symbol,
    dim_max,
    dim_min,
    floordiv,
    symbol,
)
from tensaur.ir.types import DType, Known, OtherType, TensorType, TupleType, Type

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z_%][\w./]*")
_RESERVED = frozenset(
    {"input", "weight", "output", "as", "true", "false", "none", "dim", "tuple", "const", "choose",
     "for", "var", "max", "min", "floordiv", "inf", "nan", "bytes", "_"} | {dtype.value for dtype in DType}
)  # fmt: skip
_TOKEN = re.compile(
    r"""\s+|\#.*
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<number>-?(?:0x[0-9a-f]+|\d+\.?\d*(?:e[-+]?\d+)?|(?:inf|nan)(?![\w./])))
    |(?P<name>[A-Za-z_%][\w./]*)
    |(?P<mark>\.\.\.|[-+*(){}\[\],:;=<>$?~^@])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A piece of text: its kind (string, number, name or mark), the text, and where it begins."""

    kind: str
    text: str
    start: int


class Tokens:
    """The tokens of one line, read from left to right; ParseError names the line."""

    def __init__(self, text: str, line: int = 1) -> None:
        self.line = line
        self._text = text
        self._tokens = list(self._split())
        self._next = 0

    def _split(self) -> Iterator[Token]:
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                raise ParseError(f"line {self.line}: unexpected {self._text[position:][:20]!r}")
            if match.lastgroup is not None:
                yield Token(match.lastgroup, match.group(), position)
            position = match.end()

    def peek(self, ahead: int = 0) -> Token:
        """Return a token without taking it; its kind is "end" after the last one."""
        position = self._next + ahead
        return self._tokens[position] if position < len(self._tokens) else Token("end", "", -1)

    def at(self, *texts: str) -> bool:
        """Tell whether these unquoted tokens come next."""
        following = [self.peek(i) for i in range(len(texts))]
        return all(
            token.text == text and token.kind != "string"
            for token, text in zip(following, texts, strict=True)
        )

    def accept(self, text: str) -> bool:
        """Take the next token if it is this one."""
        found = self.at(text)
        self._next += found
        return found

    def expect(self, text: str) -> None:
        """Take this token; ParseError if another one comes."""
        if not self.accept(text):
            self.fail(repr(text))

    def take(self, kind: str) -> str:
        """Take a token of a kind and return its text."""
        token = self.peek()
        if token.kind != kind:
            self.fail(f"a {kind}")
        self._next += 1
        return token.text

    def name(self) -> str:
        """Take a name, quoted or not."""
        if self.peek().kind == "string":
            return str(json.loads(self.take("string")))
        return self.take("name")

    def end(self) -> None:
        """Require that nothing is left."""
        if self.peek().kind != "end":
            self.fail("the end of the line")

    def fail(self, expected: str) -> None:
        """Raise a ParseError that tells what was expected and what came."""
        found = repr(self.peek().text) if self.peek().kind != "end" else "the end"
        raise ParseError(f"line {self.line}: expected {expected}, found {found}")

    def listed(self, close: str, item: Callable[[], T]) -> list[T]:
        """Take items separated by commas (one after the last is allowed) up to a closing mark."""
        items: list[T] = []
        while not self.accept(close):
            items.append(item())
            if not self.at(close):
                self.expect(",")
        return items


def quoted(name: str) -> str:
    """Return a name as it is written: bare if it reads as one token, else as a JSON string."""
    plain = _NAME.fullmatch(name) and name not in _RESERVED
    return name if plain else json.dumps(name)


def dim_text(dim: Dim) -> str:
    """Return a dimension as text; unlike `str`, it can be parsed whatever the symbols are called."""
    if isinstance(dim, int):
        return str(dim)
    parts: list[str] = []
    for atoms, factor in dim.terms:
        product = "*".join(_atom_text(atom) for atom in atoms)
        text = str(factor) if not product else product if factor == 1 else f"{factor}*{product}"
        parts.append(text)
    return "+".join(parts)


def _atom_text(atom: Atom) -> str:
    if isinstance(atom, Symbol):
        anonymous = atom.name.startswith("?")
        return f"?{quoted(atom.name[1:])}" if anonymous else quoted(atom.name)
    if isinstance(atom, FloorDiv):
        return f"floordiv({dim_text(atom.numerator)}, {dim_text(atom.denominator)})"
    name = "max" if isinstance(atom, Maximum) else "min"
    return f"{name}({dim_text(atom.first)}, {dim_text(atom.second)})"


def parse_dim(tokens: Tokens) -> Dim:
    """Take a dimension: a sum of products."""
    total = _parse_product(tokens)
    while tokens.accept("+"):
        total = total + _parse_product(tokens)
    return total


def _parse_product(tokens: Tokens) -> Dim:
    product = _parse_atom(tokens)
    while tokens.accept("*"):
        product = product * _parse_atom(tokens)
    return product


def _parse_atom(tokens: Tokens) -> Dim:
    if tokens.peek().kind == "number":
        return _integer(tokens)
    if tokens.accept("?"):
        return symbol(f"?{tokens.name()}")
    for name, function in _DIM_FUNCTIONS.items():
        if tokens.at(name, "("):
            tokens.expect(name)
            tokens.expect("(")
            first = parse_dim(tokens)
            tokens.expect(",")
            second = parse_dim(tokens)
            tokens.expect(")")
            return function(first, second)
    return symbol(tokens.name())


_DIM_FUNCTIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "max": dim_max, "min": dim_min, "floordiv": floordiv,
}  # fmt: skip


def _integer(tokens: Tokens) -> int:
    text = tokens.take("number")
    try:
        return int(text, 0)
    except ValueError:
        raise ParseError(f"line {tokens.line}: expected an integer, found {text!r}") from None


def type_text(kind: Type) -> str:
    """Return a type as text."""
    if isinstance(kind, TupleType):
        return f"tuple<{', '.join(type_text(item) for item in kind.items)}>"
    if isinstance(kind, OtherType):
        return f"<{json.dumps(kind.text)}>"
    if kind.shape is None:
        return f"{kind.dtype.value}[...]"
    return f"{kind.dtype.value}[{','.join(dim_text(dim) for dim in kind.shape)}]"


def parse_type(tokens: Tokens) -> Type:
    """Take a type."""
    if tokens.accept("<"):
        text = json.loads(tokens.take("string"))
        tokens.expect(">")
        return OtherType(text)
    if tokens.accept("tuple"):
        tokens.expect("<")
        return TupleType(tuple(tokens.listed(">", lambda: parse_type(tokens))))
    return parse_tensor_type(tokens)


def parse_tensor_type(tokens: Tokens) -> TensorType:
    """Take the type of a tensor."""
    dtype = _DTYPES.get(tokens.peek().text)
    if dtype is None:
        tokens.fail("a type")
    assert dtype is not None
    tokens.take("name")
    tokens.expect("[")
    if tokens.accept("..."):
        tokens.expect("]")
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(tokens.listed("]", lambda: parse_dim(tokens))))


_DTYPES = {dtype.value: dtype for dtype in DType}


def known_text(value: Known) -> str:
    """Return the elements of a constant as text, exact to the bit."""
    if value.dims is not None:
        items = [f"dim({dim_text(dim)})" for dim in value.dims]
    else:
        array = value.array
        assert array is not None
        items = [element_text(item, value.dtype) for item in array.ravel()]
    return f"{type_text(value.type)}({', '.join(items)})"


def element_text(item: np.generic, dtype: DType) -> str:
    """Return one element of a constant as text, exact to the bit."""
    if dtype is DType.BOOL:
        return "true" if item else "false"
    if dtype.is_integer:
        return str(int(item))
    text = str(item.item()) if dtype is DType.FLOAT64 else str(item)
    if dtype.is_float and _NUMBER.fullmatch(text) and _element(text, dtype) == item.tobytes():
        return text
    # NaN with a payload, and whatever else has no decimal form: the bytes as they lie in memory.
    return f"0x{item.tobytes().hex()}"


_NUMBER = re.compile(r"-?(\d+\.?\d*(e[-+]?\d+)?|inf|nan)")


def _element(text: str, dtype: DType) -> bytes:
    if text.startswith("0x"):
        return bytes.fromhex(text[2:])
    value = float(text) if dtype.is_float else int(text)
    return np.array(value).astype(dtype.numpy).tobytes() if dtype.is_float else np.array(
        value, dtype=dtype.numpy
    ).tobytes()  # fmt: skip


def parse_known(tokens: Tokens) -> Known:
    """Take a constant: its type and its elements."""
    kind = parse_tensor_type(tokens)
    shape = kind.static_shape
    tokens.expect("(")
    items = tokens.listed(")", lambda: _parse_element(tokens, kind.dtype))
    if shape is None or math.prod(shape) != len(items):
        raise ParseError(f"line {tokens.line}: {len(items)} elements for {type_text(kind)}")
    if all(isinstance(item, bytes) for item in items):
        return Known(kind.dtype, shape, b"".join(item for item in items if isinstance(item, bytes)))
    dims = [_as_dim(item) for item in items]
    return Known.of_dims(dims, shape)


def _parse_element(tokens: Tokens, dtype: DType) -> bytes | DimExpr:
    if tokens.accept("dim"):
        tokens.expect("(")
        dim = parse_dim(tokens)
        tokens.expect(")")
        return dim if isinstance(dim, DimExpr) else _element(str(dim), dtype)
    for name in ("true", "false"):
        if tokens.accept(name):
            return np.array(name == "true").tobytes()
    text = tokens.take("number")
    try:
        return _element(text, dtype)
    except (ValueError, OverflowError):
        raise ParseError(f"line {tokens.line}: {text} is no {dtype.value}") from None


def _as_dim(item: bytes | DimExpr) -> Dim:
    return int(np.frombuffer(item, np.int64)[0]) if isinstance(item, bytes) else item


def attribute_text(value: Any) -> str:
    """Return the value of an attribute as text; TypeError if it has no text form."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bytes):
        return f'bytes("{value.hex()}")'
    if isinstance(value, DType):
        return value.value
    if isinstance(value, (TensorType, TupleType, OtherType)):
        return type_text(value)
    if isinstance(value, Known):
        return known_text(value)
    if isinstance(value, DimExpr):
        return f"dim({dim_text(value)})"
    if isinstance(value, tuple):
        return tuple_text([attribute_text(item) for item in value])
    raise TypeError(f"no text form for {value!r}")


def tuple_text(items: Sequence[str]) -> str:
    """Return a tuple of texts as text."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def parse_attribute(tokens: Tokens, item: Callable[[], Any] | None = None) -> Any:
    """Take the value of an attribute; `item` parses what stands inside a tuple."""
    token = tokens.peek()
    for text, value in _WORDS.items():
        if tokens.accept(text):
            return value
    if token.kind == "string":
        return json.loads(tokens.take("string"))
    if token.kind == "number":
        return _parse_number(tokens)
    if tokens.accept("("):
        return tuple(tokens.listed(")", item or (lambda: parse_attribute(tokens))))
    if tokens.accept("bytes"):
        tokens.expect("(")
        data = bytes.fromhex(json.loads(tokens.take("string")))
        tokens.expect(")")
        return data
    if tokens.accept("dim"):
        tokens.expect("(")
        dim = parse_dim(tokens)
        tokens.expect(")")
        return dim
    return _parse_typed(tokens)


_WORDS = {"none": None, "true": True, "false": False}


def _parse_number(tokens: Tokens) -> int | float:
    text = tokens.take("number")
    whole = re.fullmatch(r"-?\d+", text)
    return int(text) if whole else float(text)


def _parse_typed(tokens: Tokens) -> Any:
    """Take an element type, a type, or a constant, which all begin alike."""
    if tokens.peek().text in _DTYPES and not tokens.at(tokens.peek().text, "["):
        return _DTYPES[tokens.take("name")]
    depth = 2
    while tokens.peek().text in _DTYPES and tokens.peek(depth - 1).text != "]":
        if tokens.peek(depth).kind == "end":
            tokens.fail("a type")
        depth += 1
    return parse_known(tokens) if tokens.peek(depth).text == "(" else parse_type(tokens)
