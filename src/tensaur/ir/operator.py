"""The operator base class, its ONNX description, and the few structural operators every graph needs.

Holds no operator that a rule could rewrite; those are in `tensaur.ops`. An operator value is a class
plus attribute values; it is frozen, hashable and knows nothing of where it stands in a graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

import numpy as np

from tensaur.errors import EmptySpace, TypeMismatch
from tensaur.ir.dims import Dim, product
from tensaur.ir.types import (
    ABSENT,
    KNOWN_LIMIT,
    Array,
    DType,
    Fact,
    Known,
    OtherType,
    TensorType,
    TupleType,
    Type,
    literal_fact,
)

REQUIRED = object()


@dataclass(frozen=True, slots=True)
class OnnxField:
    """Where ONNX keeps one attribute of an operator class.

    `field` is the dataclass field. Up to opset `input_since - 1` (always, if that is None) it is the
    ONNX attribute `attribute`; from `input_since` on it is the constant input number `input`, of element
    type `dtype` ("int64", or "like" for the element type of input 0), a scalar if `scalar` else a
    vector. `default` is the field's value when ONNX leaves it out (REQUIRED: it may not);
    `since` is the first opset that has it (before it, only `default` can be written).
    `each` is set where the default is a list as long as it needs to be, of this element (strides: 1,
    pads: 0): then `default` is ``()`` and `Operator.canonical` fills it in. `axis` is "input" or
    "output" for axes of input 0 or of the output; before opset 11 they must not be negative. `dtype`
    is "type" for an attribute that holds an element type (a `DType` in the class).
    """

    field: str
    attribute: str | None = None
    default: Any = REQUIRED
    since: int = 1
    input: int | None = None
    input_since: int | None = None
    dtype: str = "int64"
    scalar: bool = False
    each: int | None = None
    axis: str | None = None

    def is_default(self, value: Any) -> bool:
        """Tell whether `value` means the same as leaving the attribute out."""
        if self.each is not None and isinstance(value, tuple):
            return all(item == self.each for item in value)
        return bool(self.default is not REQUIRED and value == self.default)


@dataclass(frozen=True, slots=True)
class OnnxInput:
    """An input of the class that was an attribute (one number, of input 0's element type) before `since`.

    `input` counts the inputs of the class (fields not counted); `default` is the value when the old
    attribute is left out. Such an old form can be written only if the input is a literal or absent.
    """

    input: int
    attribute: str
    since: int
    default: float


@dataclass(frozen=True, slots=True)
class Onnx:
    """The ONNX operator of a class: name, first opset with this meaning, and where attributes are.

    `until` is the last opset whose meaning is this class's, None for no end. ONNX's inputs are the
    class's inputs in order, with the inputs that hold fields at their own positions between them.
    `inputs` lists inputs that were attributes in old opsets. `ignored` names attributes that do not
    change the result or follow from the inputs; any other attribute that no field names must have its
    ONNX default value, else the node is not of this class.
    """

    name: str
    since: int = 1
    fields: tuple[OnnxField, ...] = ()
    until: int | None = None
    domain: str = ""
    inputs: tuple[OnnxInput, ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """What running an operator once costs on paper: floating-point operations and bytes moved."""

    flops: Dim
    nbytes: Dim


@dataclass(frozen=True, slots=True)
class Sample:
    """An operator and inputs that it accepts: types to fill with random data, or given small values.

    An optional input that is left out before one that is given is `ABSENT`.
    """

    op: Operator
    inputs: tuple[TensorType | Known | OtherType, ...]


@dataclass(frozen=True)
class Operator:
    """One kind of computation with its attribute values: a pure function of its inputs.

    Subclasses are frozen dataclasses whose fields are the attributes (hashable values only) and set the
    class variables. `arity` counts inputs, None for any number; inputs beyond `arity_min` may be left
    out at the end, and an input left out in the middle is an `Absent` leaf. With `outputs` > 1 the value
    is a tuple and `Project` takes it apart.
    """

    arity: ClassVar[int | None] = 1
    arity_min: ClassVar[int | None] = None
    commutative: ClassVar[bool] = False
    onnx: ClassVar[Onnx | None] = None

    def infer(self, *inputs: Fact) -> Fact:
        """Return the fact of the result (`constant` is left to `infer_fact`); TypeMismatch if refused."""
        raise NotImplementedError

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        """Return the work of one run; the default reads every input, writes the result, no arithmetic."""
        return Work(0, sum_nbytes((*inputs, output)))

    def evaluate(self, *inputs: Array | None) -> Any:
        """Compute the result with NumPy (a tuple of arrays if several); None stands for an absent input."""
        raise NotImplementedError

    @classmethod
    def sample(cls, rng: Random, output: TensorType, index: int = 0) -> Sample:
        """Draw an operator and inputs whose result (or item `index` of it) has the type `output`.

        Verification and the operator tests draw from this, so it should cover broadcasts, negative
        and positive axes, and every attribute. TypeMismatch if no instance gives such a result.
        """
        raise NotImplementedError

    def canonical(self, inputs: Sequence[Fact], outputs: int = 1) -> Operator:
        """Return an equal operator with the attributes written out that ONNX lets follow from the rank.

        Readers call it once with the node's number of outputs, so that equal nodes become equal
        operators; the operator itself is returned where there is nothing to fill in.
        """
        return self

    @property
    def output_count(self) -> int:
        """Return how many outputs the operator has."""
        return 1

    @classmethod
    def accepts_arity(cls, count: int) -> bool:
        """Tell whether the class takes `count` inputs."""
        if cls.arity is None:
            return count >= (cls.arity_min or 0)
        return (cls.arity if cls.arity_min is None else cls.arity_min) <= count <= cls.arity

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Return the names of the attributes, in order."""
        return tuple(item.name for item in dataclasses.fields(cls))

    def __str__(self) -> str:
        attributes = ", ".join(f"{name}={getattr(self, name)!s}" for name in self.field_names())
        return f"{type(self).__name__}{{{attributes}}}" if attributes else type(self).__name__


def sum_nbytes(facts: Sequence[Fact]) -> Dim:
    """Return the bytes that tensors of these types take (0 for what is not a tensor of known rank)."""
    total: Dim = 0
    for fact in facts:
        total = total + type_nbytes(fact.type)
    return total


def type_nbytes(kind: Type) -> Dim:
    """Return the bytes of one value of this type."""
    if isinstance(kind, TupleType):
        total: Dim = 0
        for item in kind.items:
            total = total + type_nbytes(item)
        return total
    if not isinstance(kind, TensorType) or kind.shape is None:
        return 0
    return (product(kind.shape) * kind.dtype.bits + 7) // 8


def infer_fact(op: Operator, inputs: Sequence[Fact]) -> Fact:
    """Infer the fact of `op` applied to `inputs`, with constancy and the value of small constants.

    Raises TypeMismatch, naming the operator and the input types, if the inputs are refused.
    """
    if not type(op).accepts_arity(len(inputs)):
        raise TypeMismatch(f"{op}: {len(inputs)} inputs given")
    try:
        fact = op.infer(*inputs)
        if not inputs:
            return fact
        value = fact.value if fact.value is not None else _known_result(op, inputs, fact)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, EmptySpace) as error:
        types = ", ".join(str(item.type) for item in inputs)
        raise TypeMismatch(f"{op}({types}): {error}") from error
    constant = all(item.constant for item in inputs) and is_deterministic(op)
    return Fact(fact.type, value, constant)


def _known_result(op: Operator, inputs: Sequence[Fact], fact: Fact) -> Known | None:
    # Not only for constants: the shape of a run-time value may be known too.
    from_values = all(item.value is not None or item.type == ABSENT for item in inputs)
    if not (from_values and foldable(op) and is_small(fact.type)):
        return None
    arrays = [None if item.value is None else item.value.array for item in inputs]
    if any(a is None and item.type != ABSENT for a, item in zip(arrays, inputs, strict=True)):
        return None
    assert isinstance(fact.type, TensorType)
    return Known.of(evaluate(op, arrays), fact.type.dtype)


def is_deterministic(op: Operator) -> bool:
    """Tell whether equal inputs are known to give equal results, at every run and every place."""
    return not (isinstance(op, Opaque) and op.unique)


def foldable(op: Operator) -> bool:
    """Tell whether the operator can be computed before run time (it has a NumPy `evaluate`)."""
    return type(op).evaluate is not Operator.evaluate


def evaluate(op: Operator, inputs: Sequence[Array | None]) -> Any:
    """Run `op.evaluate` with floating-point warnings off (infinities and NaN are values here)."""
    with np.errstate(all="ignore"):
        return op.evaluate(*inputs)


def is_small(kind: Type) -> bool:
    """Tell whether a value of this type may travel as `Known`."""
    if not isinstance(kind, TensorType) or kind.dtype is DType.STRING:
        return False
    size = kind.size
    return isinstance(size, int) and size <= KNOWN_LIMIT


@dataclass(frozen=True)
class Input(Operator):
    """An input of the graph (also an initialiser that the caller may override)."""

    name: str
    type: Type

    arity = 0

    def infer(self, *inputs: Fact) -> Fact:
        """Return the declared type."""
        return Fact(self.type)


@dataclass(frozen=True)
class Weight(Operator):
    """A large constant, named; its data are in `Graph.constants` and never looked into here."""

    name: str
    type: TensorType

    arity = 0

    def infer(self, *inputs: Fact) -> Fact:
        """Return the declared type, marked constant."""
        return Fact(self.type, None, constant=True)


@dataclass(frozen=True)
class Literal(Operator):
    """A small constant, held by value, so that equal literals are one e-node."""

    value: Known

    arity = 0

    def infer(self, *inputs: Fact) -> Fact:
        """Return the literal's type and elements."""
        return literal_fact(self.value)

    def evaluate(self, *inputs: Array | None) -> Array:
        """Return the elements."""
        array = self.value.array
        assert array is not None, "a literal has no symbolic elements"
        return array


@dataclass(frozen=True)
class Absent(Operator):
    """The place of an optional input that is left out before one that is given."""

    arity = 0

    def infer(self, *inputs: Fact) -> Fact:
        """Return the type of nothing."""
        return Fact(ABSENT, None, constant=True)


@dataclass(frozen=True)
class Project(Operator):
    """Output number `index` of an operator with several outputs."""

    index: int

    def infer(self, *inputs: Fact) -> Fact:
        """Return the item's type."""
        (source,) = inputs
        if not isinstance(source.type, TupleType):
            raise TypeError(f"expected a tuple, got {source.type}")
        return Fact(source.type.items[self.index])

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        """Cost nothing: it only names an output."""
        return Work(0, 0)

    def evaluate(self, *inputs: Any) -> Array:
        """Pick the output."""
        result: Array = inputs[0][self.index]
        return result


@dataclass(frozen=True)
class Root(Operator):
    """Joins the outputs of a graph to one value; no rule matches it."""

    arity = None

    def infer(self, *inputs: Fact) -> Fact:
        """Return the tuple of the outputs' types."""
        return Fact(TupleType(tuple(item.type for item in inputs)))

    def work(self, inputs: Sequence[Fact], output: Fact) -> Work:
        """Cost nothing."""
        return Work(0, 0)


@dataclass(frozen=True)
class Opaque(Operator):
    """An ONNX node that no rule knows: kept as it is, with the types that the file declares.

    `attributes` are serialised ONNX attributes, sorted by name. `captured` names, for operators with
    subgraphs, the outer values that the bodies use, in the order of the inputs that follow the
    `formal` declared ones. `unique` is not empty for operators that may not be merged with an equal
    one (random numbers, unknown domains): the name of the node. `declared` are the output types.
    """

    domain: str
    op_type: str
    overload: str
    attributes: tuple[tuple[str, bytes], ...]
    declared: tuple[Type, ...]
    formal: int
    captured: tuple[str, ...] = ()
    unique: str = ""

    arity = None

    @property
    def output_count(self) -> int:
        """Return the number of declared outputs."""
        return len(self.declared)

    def infer(self, *inputs: Fact) -> Fact:
        """Return the declared types."""
        if len(self.declared) == 1:
            return Fact(self.declared[0])
        return Fact(TupleType(self.declared))

    def __str__(self) -> str:
        prefix = f"{self.domain}::" if self.domain else ""
        return f"{prefix}{self.op_type}"


STRUCTURAL: tuple[type[Operator], ...] = (
    Input, Weight, Literal, Absent, Project, Root, Opaque,
)  # fmt: skip
