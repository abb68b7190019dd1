"""Small random problems, cyclic ones included, and their optimum by trying every choice."""

from itertools import pairwise, product

import numpy as np
from hypothesis import strategies as st

from tensaur.errors import ExtractionError
from tensaur.extract import solve
from tensaur.extract.cpsat import is_installed
from tensaur.extract.problem import Problem, closure, totals

CLASSES = 6
METHODS = [name for name in solve.METHODS if name != "ilp-cpsat" or is_installed()]
EXACT = [name for name in METHODS if name.startswith("ilp") and name != "ilp-acyclic"]


@st.composite
def problems(draw, budget=False):
    classes = draw(st.integers(1, CLASSES))
    node_class, children, cost, size = [], [], [], []
    for cls in range(classes):
        for _ in range(draw(st.integers(1, 3))):
            node_class.append(cls)
            children.append(draw(st.lists(st.integers(0, classes - 1), max_size=3)))
            cost.append(draw(st.sampled_from((0, 0, 1, 2, 3, 10, 10**9))))
            size.append(draw(st.integers(0, 4)) if budget else 0)
    limit = draw(st.integers(0, 12)) if budget else None
    order = draw(st.permutations(range(len(node_class))))
    return Problem.of(
        [children[n] for n in order],
        [node_class[n] for n in order],
        [cost[n] for n in order],
        [size[n] for n in order],
        root=classes - 1,
        size_budget=limit,
    )


def best_cost(problem):
    """The least cost over all choices of one row a class; None if none is valid."""
    options = [np.flatnonzero(problem.node_class == c).tolist() for c in range(problem.class_count)]
    best = None
    for rows in product(*[choices or [-1] for choices in options]):
        try:
            total = totals(problem, closure(problem, np.array(rows)))
        except ExtractionError:
            continue
        if problem.size_budget is not None and total.size > problem.size_budget:
            continue
        if best is None or total.cost < best:
            best = total.cost
    return best


def layered(layers, width, seed=0, merges=True):
    """A network-like problem: every class can be computed alone, or as a part of a merged operator."""
    rng = np.random.default_rng(seed)
    node_class, children, cost = [0], [[]], [0]
    below, count = [0], 1
    for _ in range(layers):
        classes = list(range(count, count + width))
        count += width
        for cls in classes:
            for _ in range(2):
                picked = rng.choice(below, size=min(2, len(below)), replace=False)
                node_class.append(cls)
                children.append(picked.tolist())
                cost.append(int(rng.integers(50, 100)))
        for first, second in zip(classes[::2], classes[1::2], strict=False):
            if not merges:
                continue
            merged = count
            count += 1
            node_class += [merged, first, second]
            children += [rng.choice(below, size=1).tolist(), [merged], [merged]]
            cost += [int(rng.integers(80, 160)), 0, 0]
        # Equal ways round make cycles, as rules applied both ways do.
        for cls, other in pairwise(classes):
            node_class += [cls, other]
            children += [[other], [cls]]
            cost += [int(rng.integers(1, 60)), int(rng.integers(1, 60))]
        below = classes
    node_class.append(count)
    children.append(below)
    cost.append(0)
    return Problem.of(children, node_class, cost, root=count)
