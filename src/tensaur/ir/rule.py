"""A rewrite rule as a value: what to find, what to make, when, and how exact the equation is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum

from tensaur.errors import RuleError
from tensaur.ir.operator import Operator, Project
from tensaur.ir.term import (
    Apply,
    AttrVar,
    Const,
    Derived,
    Each,
    Elem,
    OpVar,
    Pick,
    Seq,
    Term,
    Var,
    subterms,
)
from tensaur.ir.types import DType


class Exactness(IntEnum):
    """How equal the two sides are; a higher level admits more."""

    EXACT = 0
    ROUNDING = 1
    FAST = 2


EXACT, ROUNDING, FAST = Exactness.EXACT, Exactness.ROUNDING, Exactness.FAST

_WIDE_FLOATS = frozenset({DType.FLOAT32, DType.FLOAT64})
_ALL = frozenset(DType)


@dataclass(frozen=True)
class Rule:
    """An equation between terms, directed from `find` to `make`.

    `find` is one term or a tuple of terms that share variables (a multi-pattern; then `make` has as
    many, or is one multi-output term whose outputs correspond to them in order). `when` are derived
    conditions, all of which must be true. `dtypes` are the element types of the first found term for
    which the equation is admitted: every type for `exact` rules, float32 and float64 for the others,
    and the integers too if `integers` says that the equation holds in wrap-around arithmetic.
    The name is kebab-case, prefixed by the family.

    A *group rule* finds any number of terms of one form: its single found term holds `Elem(xs)` where
    the members differ, everything else is shared, and `make` is one term with as many outputs as
    there are members, written with the sequence `xs`. `instance(n)` is the rule for n members, an
    ordinary multi-pattern; `members` is then n.
    """

    name: str
    find: Term | tuple[Term, ...]
    make: Term | tuple[Term, ...]
    when: tuple[Derived, ...] = ()
    exactness: Exactness = EXACT
    both_ways: bool = False
    integers: bool = False
    members: int = 0
    why: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        self._check_variables()
        self._check_sequences()

    @property
    def finds(self) -> tuple[Apply, ...]:
        """Return the terms to find, always as a tuple."""
        terms = self.find if isinstance(self.find, tuple) else (self.find,)
        for term in terms:
            if not isinstance(term, Apply):
                raise RuleError(f"rule {self.name}: {term} finds everything")
        return terms  # type: ignore[return-value]  # every item was just checked

    @property
    def makes(self) -> tuple[Term, ...]:
        """Return the terms to make, one for each found term."""
        if isinstance(self.make, tuple):
            made = self.make
        elif isinstance(self.find, tuple) and len(self.find) > 1:
            made = tuple(
                Apply(Project, (("index", i),), (self.make,)) for i in range(len(self.find))
            )
        else:
            made = (self.make,)
        if len(made) != len(self.finds):
            raise RuleError(f"rule {self.name}: finds {len(self.finds)} terms, makes {len(made)}")
        return made

    @property
    def is_multi(self) -> bool:
        """Tell whether the rule finds several terms at once."""
        return len(self.finds) > 1

    @property
    def dtypes(self) -> frozenset[DType]:
        """Return the element types for which the equation is admitted."""
        if self.exactness is EXACT:
            return _ALL
        integers = frozenset(dtype for dtype in DType if dtype.is_integer)
        return _WIDE_FLOATS | integers if self.integers else _WIDE_FLOATS

    @property
    def sequence(self) -> Seq | None:
        """Return the sequence variable, if there is one."""
        for term in self._found():
            if isinstance(term, Seq):
                return term
        return None

    @property
    def group(self) -> Seq | None:
        """Return the sequence of a group rule's members, None for other rules."""
        if self.members:
            return None
        return next((term.seq for term in self._found() if isinstance(term, Elem)), None)

    def instance(self, members: int) -> Rule:
        """Return a group rule for a given number of members, as a multi-pattern rule.

        Member i has `Var("xs.i")` where the group has `Elem(xs)`; what it makes keeps the sequence,
        so `Bindings.lengths` must hold its length.
        """
        sequence = self.group
        if sequence is None:
            raise RuleError(f"rule {self.name}: is not a group rule")
        (found,) = self.finds
        finds = tuple(with_member(found, sequence.item(i)) for i in range(members))
        return replace(self, find=finds, members=members)

    def operators_made(self) -> frozenset[type[Operator]]:
        """Return the operator classes that only `make` names; a target must be able to write them."""
        found = {item.op for item in self._found() if isinstance(item, Apply)}
        made = {item.op for item in self._made() if isinstance(item, Apply)}
        return frozenset(op for op in made - found if isinstance(op, type))

    def directed(self) -> tuple[Rule, ...]:
        """Return the rule, and its inverse named ``NAME~`` if it holds both ways, each one-way."""
        forward = replace(self, both_ways=False)
        if not self.both_ways:
            return (forward,)
        return (forward, replace(forward, name=f"{self.name}~", find=self.make, make=self.find))

    def commuted(self) -> tuple[tuple[Apply, ...], ...]:
        """Return `finds` in every order of the inputs of commutative operators, without repeats."""
        choices = [tuple(_commutations(term)) for term in self.finds]
        return tuple(dict.fromkeys(itertools.product(*choices)))

    def __str__(self) -> str:
        left = ", ".join(str(term) for term in self.finds)
        right = ", ".join(str(term) for term in self.makes)
        arrow = "<=>" if self.both_ways else "=>"
        conditions = f" when {', '.join(str(item) for item in self.when)}" if self.when else ""
        return f"{self.name}: {left} {arrow} {right}{conditions}"

    def _found(self) -> Iterator[object]:
        return itertools.chain.from_iterable(subterms(term) for term in self.finds)

    def _made(self) -> Iterator[object]:
        return itertools.chain.from_iterable(subterms(term) for term in self.makes)

    def _check_variables(self) -> None:
        kinds = (Var, AttrVar, OpVar, Seq)
        bound = {item for item in self._found() if isinstance(item, kinds)}
        if self.members:  # what an instance makes still names the sequence, not its items
            bound |= {item for item in self._made() if isinstance(item, Seq)}
        used = {item for item in self._made() if isinstance(item, kinds)}
        for condition in self.when:
            used |= {item for item in subterms(condition) if isinstance(item, kinds)}
        for item in used - bound:
            raise RuleError(f"rule {self.name}: {item} is not bound by what it finds")
        if self.both_ways and bound - {i for i in self._made() if isinstance(i, kinds)}:
            raise RuleError(f"rule {self.name}: both ways, but one side has more variables")
        for term in self._found():
            if isinstance(term, (Derived, Const, Each, Pick)):
                raise RuleError(f"rule {self.name}: {term} cannot be matched")

    def _check_sequences(self) -> None:
        sequences = {item for item in self._found() if isinstance(item, Seq)}
        if self.group is not None and self.both_ways:
            raise RuleError(f"rule {self.name}: a group rule holds one way only")
        if len(sequences) > 1:
            raise RuleError(f"rule {self.name}: more than one sequence variable")


def with_member(term: Apply, member: Var) -> Apply:
    """Return the found term of a group rule with `member` in the place of its `Elem`."""
    inputs = tuple(
        member if isinstance(i, Elem) else with_member(i, member) if isinstance(i, Apply) else i
        for i in term.inputs
    )
    return replace(term, inputs=inputs)


def _commutations(term: Term) -> Iterator[Apply]:
    assert isinstance(term, Apply)
    choices = [tuple(_commutations(i)) if isinstance(i, Apply) else (i,) for i in term.inputs]
    for inputs in itertools.product(*choices):
        yield replace(term, inputs=inputs)
        if len(inputs) == 2 and _is_commutative(term):
            yield replace(term, inputs=inputs[::-1])


def _is_commutative(term: Apply) -> bool:
    classes = (term.op,) if isinstance(term.op, type) else term.op.choices
    return all(op.commutative for op in classes)
