"""Classes with what is known of their values: union-find, one fact number per class, and meets."""

from __future__ import annotations

import numpy as np

from tensaur.egraph.columns import Column
from tensaur.egraph.facts import Facts
from tensaur.egraph.relations import BoolArray, IntArray, distinct, group_rows
from tensaur.egraph.symbols import Symbols
from tensaur.egraph.unions import Merge, Union, Unions
from tensaur.errors import TypeMismatch


class Contradiction(Exception):
    """Two classes that are to be joined have facts that contradict; `EGraph` names what they are."""

    def __init__(self, union: Union, text: str) -> None:
        super().__init__(text)
        self.union = union


class Classes:
    """The union-find of rows, in which the canonical class of a set holds the meet of all facts.

    Remembers which classes' facts improved (their parents must be inferred again) and which may have
    got a known value (they want a literal row) until somebody takes these lists.
    """

    def __init__(self, symbols: Symbols) -> None:
        self.unions = Unions()
        self.facts = Facts(symbols)
        self.fact = Column()
        self._improved: list[IntArray] = []
        self._valued: list[IntArray] = []

    def append(self, row: int, fact: int) -> None:
        """Give a new row a class with a fact."""
        self.unions.grow(row + 1)
        self.fact.append(fact)
        self.expect_literals(np.array([row]))

    def extend(self, end: int, facts: IntArray) -> None:
        """Give new rows up to `end` classes with facts."""
        self.unions.grow(end)
        self.fact.extend(facts, len(facts))

    def truncate(self, end: int) -> None:
        """Forget the classes of the rows from `end` on, which were joined with nothing yet."""
        self.unions.grow(end)
        self.fact.resize(end)

    def infer_many(self, symbol: IntArray, inputs: IntArray) -> IntArray:
        """Return the fact numbers of symbols applied to facts, -1 where that is ill-typed."""
        # Facts are shifted by one because an ill-typed input has the fact -1.
        columns = [symbol, *(inputs[:, position] + 1 for position in range(inputs.shape[1]))]
        grouping = group_rows(columns, len(symbol))
        examples = zip(
            symbol[grouping.first].tolist(), inputs[grouping.first].tolist(), strict=True
        )
        inferred = [self._try_infer(number, tuple(facts)) for number, facts in examples]
        result: IntArray = np.array(inferred, np.int64)[grouping.group]
        return result

    def union(self, first: int, second: int, cause: int) -> bool:
        """Join the classes of two rows; tell whether they were apart."""
        a, b = self.unions.find(first), self.unions.find(second)
        if a == b:
            return False
        old = np.array([self.fact.view[a], self.fact.view[b]])
        fact = self._meet(int(old[0]), int(old[1]), Union(first, second, cause))
        self.unions.merge_one(first, second, cause)
        changed = np.array([bool((old != fact).any())])
        self._set(np.array([min(a, b)]), np.array([fact]), changed)
        return True

    def union_many(self, first: IntArray, second: IntArray, cause: IntArray) -> bool:
        """Join pairs of classes at once; tell whether any were apart."""
        plan = self.unions.plan(first, second)
        if plan is None:
            return False
        old = self.fact.view[plan.members]
        facts: IntArray = self.fact.view[plan.roots].copy()
        for at in np.flatnonzero(old != facts[plan.group]).tolist():
            group = int(plan.group[at])
            example = self._example(plan, at, first, second, cause)
            facts[group] = self._meet(int(facts[group]), int(old[at]), example)
        changed = np.zeros(len(facts), np.bool_)
        changed[plan.group[old != facts[plan.group]]] = True
        self.unions.merge(plan, first, second, cause)
        self._set(plan.roots, facts, changed)
        return True

    def refine(self, cls: int, fact: int, union: Union) -> None:
        """Let a class know what one of its rows says."""
        old = int(self.fact.view[cls])
        met = self._meet(old, fact, union)
        if met != old:
            self._set(np.array([cls]), np.array([met]), np.array([True]))

    def take_improved(self) -> IntArray | None:
        """Return the canonical classes whose facts improved since the last call, None if none did."""
        return self._take(self._improved)

    def take_valued(self) -> IntArray | None:
        """Return the canonical classes whose facts are new since the last call, None if none are."""
        return self._take(self._valued)

    def expect_literals(self, classes: IntArray) -> None:
        """Remember classes that may have a known value."""
        self._valued.append(classes)

    def _take(self, lists: list[IntArray]) -> IntArray | None:
        if not lists:
            return None
        classes = distinct(self.unions.find_many(np.concatenate(lists)), self.unions.parent.size)
        lists.clear()
        return classes

    def _try_infer(self, symbol: int, inputs: tuple[int, ...]) -> int:
        if any(item < 0 for item in inputs):
            return -1
        try:
            return self.facts.infer(symbol, inputs)
        except TypeMismatch:
            return -1

    def _meet(self, first: int, second: int, union: Union) -> int:
        try:
            return self.facts.meet(first, second)
        except ValueError as error:
            raise Contradiction(union, str(error)) from error

    def _example(
        self, plan: Merge, at: int, first: IntArray, second: IntArray, cause: IntArray
    ) -> Union:
        """Return a union of the batch that joins the member at `at` to its group."""
        effective, find = plan.effective, self.unions.find_many
        member = plan.members[at]
        touching = (find(first[effective]) == member) | (find(second[effective]) == member)
        edge = effective[np.flatnonzero(touching)[0]]
        return Union(int(first[edge]), int(second[edge]), int(cause[edge]))

    def _set(self, classes: IntArray, facts: IntArray, changed: BoolArray) -> None:
        self.fact.view[classes] = facts
        if changed.any():
            self._improved.append(classes[changed])
            self.expect_literals(classes[changed])
