"""Transformers: BERT as TenSat has it, and BERT's encoder as it is."""

from __future__ import annotations

from math import sqrt

import numpy as np

from benchmarks.models.builder import Network
from tensaur.ir.graph import Graph
from tensaur.ops import (
    Add,
    Div,
    Erf,
    LayerNormalization,
    MatMul,
    Mul,
    Relu,
    Softmax,
    Transpose,
)


def bert_tensat(width: int = 1024, seed: int = 0, heads: int = 16, layers: int = 8) -> Graph:
    """Build what TenSat calls BERT: attention without softmax, normalisation or feed-forward part.

    As there, queries are multiplied by keys that are not transposed (so the sequence is as long as a
    head is wide), and the attentions' results are outputs that no later layer reads.
    """
    net = Network(seed)
    size = width // heads
    value = net.apply(Relu(), net.input("x", size, width))
    outputs = []
    for _ in range(layers):
        query, key, content = (
            _split_heads(net, net.apply(MatMul(), value, net.weight(width, width)), size, heads)
            for _ in range(3)
        )
        attended = net.apply(MatMul(), net.apply(MatMul(), query, key), content)
        outputs.append(_join_heads(net, attended, size, width))
        value = net.apply(MatMul(), value, net.weight(width, width))
    return net.build([*outputs, value])


def bert_encoder(
    width: int = 768, seed: int = 0, heads: int = 12, layers: int = 4, sequence: int = 128
) -> Graph:
    """Build encoder layers of BERT as PyTorch exports them, the Gelu written with Erf."""
    net = Network(seed)
    value = net.input("x", sequence, width)
    for _ in range(layers):
        value = encoder_layer(net, value, sequence, width, heads)
    return net.build([value])


def encoder_layer(net: Network, value: int, sequence: int, width: int, heads: int) -> int:
    """Add one layer of BERT's encoder."""
    attended = _attention(net, value, sequence, width, heads)
    value = _normalise(net, net.apply(Add(), attended, value), width)
    hidden = _gelu(net, _linear(net, value, width, 4 * width))
    return _normalise(net, net.apply(Add(), _linear(net, hidden, 4 * width, width), value), width)


def _attention(net: Network, value: int, sequence: int, width: int, heads: int) -> int:
    query, key, content = (
        net.reshape(_linear(net, value, width, width), sequence, heads, width // heads)
        for _ in range(3)
    )
    to_front = Transpose(perm=(1, 0, 2))
    scores = net.apply(
        MatMul(), net.apply(to_front, query), net.apply(Transpose(perm=(1, 2, 0)), key)
    )
    scaled = net.apply(Div(), scores, net.constant(sqrt(width // heads)))
    attended = net.apply(
        MatMul(), net.apply(Softmax(axis=-1), scaled), net.apply(to_front, content)
    )
    return _linear(net, _join_heads(net, attended, sequence, width), width, width)


def _split_heads(net: Network, value: int, sequence: int, heads: int) -> int:
    cut = net.reshape(value, sequence, heads, sequence)
    return net.apply(Transpose(perm=(1, 0, 2)), cut)


def _join_heads(net: Network, value: int, sequence: int, width: int) -> int:
    return net.reshape(net.apply(Transpose(perm=(1, 0, 2)), value), sequence, width)


def _linear(net: Network, value: int, inner: int, outer: int) -> int:
    product = net.apply(MatMul(), value, net.weight(inner, outer))
    return net.apply(Add(), net.weight(outer, scale=0.1), product)


def _gelu(net: Network, value: int) -> int:
    inner = net.apply(Erf(), net.apply(Div(), value, net.constant(sqrt(2))))
    shifted = net.apply(Add(), inner, net.constant(1.0))
    return net.apply(Mul(), net.apply(Mul(), value, shifted), net.constant(0.5))


def _normalise(net: Network, value: int, width: int) -> int:
    scale, bias = net.constant(np.ones(width)), net.weight(width, scale=0.1)
    return net.apply(LayerNormalization(axis=-1, epsilon=1e-5), value, scale, bias)
