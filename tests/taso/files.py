"""A small writer of TASO's protobuf files, and a naive interpreter of the records in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensaur.taso.wire import RuleRecord

CONV, RELU, SIGMOID, TANH, CONCAT, SPLIT, ADD, MUL, MATMUL = 3, 8, 9, 10, 12, 13, 16, 17, 18
KERNEL, STRIDES, PADDING, ACTIVATION, RANK, AXIS = (4, 5), (6, 7), 8, 9, 10, 11
INPUTS, OUTPUTS = 1, 2
SAME, VALID = 0, 1


def varint(value):
    """Return a number as protobuf writes an int32: negative ones in ten bytes."""
    value &= (1 << 64) - 1
    data = b""
    while value > 127:
        data += bytes([value & 127 | 128])
        value >>= 7
    return data + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def operator(kind, *inputs, **parameters):
    """Return an operator; inputs are rule inputs (negative) or (operator, output)."""
    places = [item if isinstance(item, tuple) else (item, 0) for item in inputs]
    data = number(1, kind)
    data += b"".join(message(2, number(1, a) + number(2, b)) for a, b in places)
    given = parameters.get("parameters", {})
    return data + b"".join(message(3, number(1, k) + number(2, v)) for k, v in given.items())


def conv(data, weight, *, kernel=(3, 3), strides=(1, 1), padding=SAME, activation=0):
    given = dict(zip(STRIDES, strides, strict=True)) | {PADDING: padding, ACTIVATION: activation}
    if kernel is not None:
        given |= dict(zip(KERNEL, kernel, strict=True))
    return operator(CONV, data, weight, parameters=given)


def matmul(first, second, activation=0):
    return operator(MATMUL, first, second, parameters={ACTIVATION: activation})


def concat(axis, rank, *inputs):
    return operator(CONCAT, *inputs, parameters={INPUTS: len(inputs), RANK: rank, AXIS: axis})


def split(axis, parts, whole):
    return operator(SPLIT, whole, parameters={OUTPUTS: parts, AXIS: axis})


def rule(source, target, *outputs):
    """Return a rule; outputs are ((source operator, output), (target operator, output))."""
    data = b"".join(message(1, item) for item in source)
    data += b"".join(message(2, item) for item in target)
    for (a, i), (b, j) in outputs:
        data += message(3, number(1, a) + number(2, b) + number(3, i) + number(4, j))
    return data


def collection(*rules):
    return b"".join(message(1, item) for item in rules)


# Rules that several tests use.

ASSOCIATE = rule([matmul(-1, -2), matmul((0, 0), -3)], [matmul(-2, -3), matmul(-1, (0, 0))],
                 ((1, 0), (1, 0)))  # fmt: skip
FUSE_RELU = rule([conv(-1, -10), operator(RELU, (0, 0))], [conv(-1, -10, activation=2)],
                 ((1, 0), (0, 0)))  # fmt: skip
# TASO's hand-written rule, which loses the factor.
LOSE_FACTOR = rule([conv(-1, -10), operator(MUL, (0, 0), -2)], [conv(-1, -10)],
                   ((1, 0), (0, 0)))  # fmt: skip
SHARE_FACTOR = rule(
    [matmul(-1, -2), matmul(-1, -3)],
    [concat(1, 2, -2, -3), matmul(-1, (0, 0)), split(1, 2, (1, 0))],
    ((0, 0), (2, 0)), ((1, 0), (2, 1)),
)  # fmt: skip
JOIN_FILTERS = rule(
    [conv(-1, -10), conv(-1, -11), concat(1, 4, (0, 0), (1, 0))],
    [concat(0, 4, -10, -11), conv(-1, (0, 0))],
    ((2, 0), (1, 0)),
)
SUM_ORDER = rule([operator(ADD, -1, -2), operator(ADD, -3, (0, 0))],
                 [operator(ADD, -1, -3), operator(ADD, -2, (0, 0))], ((1, 0), (1, 0)))  # fmt: skip
SUM_ORDER_AGAIN = rule([operator(ADD, -1, -2), operator(ADD, -3, (0, 0))],
                       [operator(ADD, -2, -3), operator(ADD, -1, (0, 0))],
                       ((1, 0), (1, 0)))  # fmt: skip


# The naive interpreter: TASO's meaning of records, on arrays. A value knows by axis the sizes of the parts
# of which it was joined last.


@dataclass
class Value:
    array: np.ndarray
    cuts: dict[int, list[int]]


class IllTyped(Exception):
    pass


def compute(record: RuleRecord, side, arrays):
    """Return what the mapped outputs of a side are for the arrays of the rule inputs; may be IllTyped."""
    values: list[list[Value]] = []
    for item in record.source if side == "source" else record.target:
        inputs = [_value(values, arrays, place) for place in item.inputs]
        values.append(_outputs(item, inputs))
    places = [getattr(output, side) for output in record.outputs]
    return [_value(values, arrays, place).array for place in places]


def _value(values, arrays, place):
    if place.operator < 0:
        return Value(arrays[place.operator], {})
    return values[place.operator][place.output]


def _require(truth):
    if not truth:
        raise IllTyped


def _outputs(item, inputs):
    kind, given = item.type, item.parameters
    first = inputs[0]
    if kind in (RELU, SIGMOID, TANH):
        return [Value(_activated(kind, first.array), first.cuts)]
    if kind == CONCAT:
        return [_joined(inputs, given[AXIS], given[RANK])]
    if kind == SPLIT:
        sizes = first.cuts[given[AXIS]]
        parts = np.split(first.array, np.cumsum(sizes)[:-1], given[AXIS])
        return [Value(part, {}) for part in parts]
    if kind in (ADD, MUL):
        _require(inputs[0].array.shape == inputs[1].array.shape)
        cuts = {k: v for k, v in first.cuts.items() if inputs[1].cuts.get(k) == v}
        both = (inputs[0].array, inputs[1].array)
        return [Value(both[0] + both[1] if kind == ADD else both[0] * both[1], cuts)]
    result = _product(*inputs) if kind == MATMUL else _convolved(*inputs, given)
    fused = {0: None, 1: SIGMOID, 2: RELU, 3: TANH}[given.get(ACTIVATION, 0)]
    return [result if fused is None else Value(_activated(fused, result.array), result.cuts)]


def _activated(kind, array):
    if kind == RELU:
        return np.maximum(array, 0)
    return np.tanh(array) if kind == TANH else 1 / (1 + np.exp(-array))


def _joined(inputs, axis, rank):
    arrays = [item.array for item in inputs]
    _require(all(array.ndim == rank for array in arrays))
    rest = {array.shape[:axis] + array.shape[axis + 1 :] for array in arrays}
    _require(len(rest) == 1)
    return Value(np.concatenate(arrays, axis), {axis: [array.shape[axis] for array in arrays]})


def _product(first, second):
    a, b = first.array, second.array
    _require(a.ndim == b.ndim >= 2 and a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2])
    cuts = {}
    if a.ndim == 2:
        cuts |= {0: first.cuts[0]} if 0 in first.cuts else {}
        cuts |= {1: second.cuts[1]} if 1 in second.cuts else {}
    return Value(a @ b, cuts)


def _convolved(data, weight, given):
    x, w = data.array, weight.array
    _require(x.ndim == w.ndim == 4 and w.shape[1] and not x.shape[1] % w.shape[1])
    groups = x.shape[1] // w.shape[1]
    _require(groups and not w.shape[0] % groups)
    if KERNEL[0] in given:
        _require(w.shape[2:] == (given[KERNEL[0]], given[KERNEL[1]]))
    sizes, pads = [], []
    for axis in (0, 1):
        size, kernel, stride = x.shape[2 + axis], w.shape[2 + axis], given[STRIDES[axis]]
        total = 0
        if given[PADDING] == SAME:
            count = -(-size // stride)
            total = max((count - 1) * stride + kernel - size, 0)
        else:
            _require(size >= kernel)
            count = (size - kernel) // stride + 1
        sizes.append(count)
        pads.append((total // 2, total - total // 2))
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    out = np.zeros((x.shape[0], w.shape[0], *sizes), dtype=x.dtype)
    inner, filters = w.shape[1], w.shape[0] // groups
    for m in range(w.shape[0]):
        start = (m // filters) * inner
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                top, left = i * given[STRIDES[0]], j * given[STRIDES[1]]
                window = padded[
                    :, start : start + inner, top : top + w.shape[2], left : left + w.shape[3]
                ]
                out[:, m, i, j] = (window * w[m]).sum(axis=(1, 2, 3))
    cuts = {0: data.cuts[0]} if 0 in data.cuts else {}
    cuts |= {1: weight.cuts[0]} if 0 in weight.cuts else {}
    return Value(out, cuts)
