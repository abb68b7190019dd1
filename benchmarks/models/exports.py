"""Whole networks in the form that exporters leave them in, with work that nobody asked for.

Does not optimise or time anything.
"""

from __future__ import annotations

from benchmarks.models.builder import Network
from benchmarks.models.convnets import Convnet
from benchmarks.models.transformers import encoder_layer
from tensaur.ir.graph import Graph
from tensaur.ops import (
    Add,
    AveragePool,
    Clip,
    Concat,
    GlobalAveragePool,
    MaxPool,
    Mul,
    Pad,
    Sigmoid,
    Slice,
    Transpose,
)

_TO_FRONT, _TO_BACK = Transpose(perm=(0, 3, 1, 2)), Transpose(perm=(0, 2, 3, 1))


class _ChannelsLast(Convnet):
    """A network whose values are NHWC, as TensorFlow has them: each window works between two transposes."""

    def _between(self, value: int, op: MaxPool | AveragePool | GlobalAveragePool) -> int:
        return self.apply(_TO_BACK, self.apply(op, self.apply(_TO_FRONT, value)))

    def conv_last(self, value: int, channels: int, kernel: int = 3, stride: int = 1) -> int:
        """Convolve without padding, which TensorFlow writes as a Pad of its own, and add a bias."""
        if kernel > 1:
            edge = kernel // 2
            value = self.apply(Pad(pads=(0, edge, edge, 0) * 2), value)
        turned = self.apply(_TO_FRONT, value)
        back = self.apply(_TO_BACK, self.conv(turned, channels, kernel, stride, pad=0))
        return self.apply(Add(), back, self.weight(channels, scale=0.1))

    def block(self, value: int, channels: int) -> int:
        """Add a residual block with a gate by constants, in NHWC."""
        inner = self.relu(self.conv_last(value, channels))
        scaled = self.apply(Mul(), self.conv_last(inner, channels), self.weight(channels))
        return self.relu(self.apply(Add(), value, scaled))

    def branches(self, value: int, channels: int) -> int:
        """Join three branches along the channels, in NHWC."""
        narrow = self.relu(self.conv_last(value, channels, 1))
        wide = self.apply(
            Clip(), self.conv_last(value, channels), self.constant(0.0), self.constant(6.0)
        )
        pool = MaxPool(kernel=(3, 3), strides=(1, 1), pads=(1,) * 4)
        return self.apply(Concat(axis=3), narrow, wide, self._between(value, pool))

    def halve(self, value: int) -> int:
        """Take means over windows of 2x2."""
        return self._between(value, AveragePool(kernel=(2, 2), strides=(2, 2)))

    def mean(self, value: int) -> int:
        """Take the mean over space."""
        return self._between(value, GlobalAveragePool())


def channels_last(width: int = 32, seed: int = 0, size: int = 56) -> Graph:
    """Build a TensorFlow-style export: NHWC throughout, 50 transposes around 25 windows.

    Convolutions, pooling and joined branches stand between transposes; pads, biases, scales, residual sums
    and activations between those. The input is NHWC, the output a picture of means.
    """
    net = _ChannelsLast(seed, bias=False)
    value = net.relu(net.conv_last(net.input("x", 1, size, size, 3), width))
    for _stage in range(2):
        for _ in range(3):
            value = net.block(value, width)
        value = net.branches(value, width)
        width *= 2
        value = net.relu(net.conv_last(net.halve(value), width))
    value = net.block(value, width)
    return net.build([net.apply(Sigmoid(), net.mean(value))])


def encoder_read_once(
    width: int = 512, seed: int = 0, heads: int = 8, layers: int = 8, sequence: int = 128
) -> Graph:
    """Build an encoder of which only the last token's vector is read, as classifiers do."""
    net = Network(seed)
    value = net.input("x", sequence, width)
    for _ in range(layers):
        value = encoder_layer(net, value, sequence, width, heads)
    last = net.apply(Slice(starts=(-1,), ends=(2**31 - 1,), axes=(0,)), value)
    return net.build([last])
