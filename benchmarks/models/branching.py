"""Convolutional networks whose blocks have many different branches: Inception-v3 and NasNet-A.

`width`, `size` and `bias` are as in `convnets`.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.models.convnets import Convnet
from tensaur.ir.graph import Graph
from tensaur.ops import Add

_ROW, _COLUMN = (1, 7), (7, 1)
# Keeps the size of the signal about equal over many cells that add pairs of values.
_SEPARABLE_GAIN = 0.7


class _Inception(Convnet):
    """Inception-v3 under construction; channels are given for the published width of 32."""

    def __init__(self, seed: int, bias: bool, width: int) -> None:
        super().__init__(seed, bias)
        self._width = width

    def scaled(self, channels: int) -> int:
        """Return the number of channels at this network's width."""
        return channels * self._width // 32

    def chain(self, value: int, *layers: tuple[int, int | tuple[int, int]]) -> int:
        """Apply convolutions of these channels and kernels."""
        for channels, kernel in layers:
            value = self.conv_relu(value, self.scaled(channels), kernel)
        return value

    def halving(self, value: int, channels: int) -> int:
        """Apply a convolution that halves the picture."""
        return self.conv_relu(value, self.scaled(channels), 3, stride=2, pad=0)


def inception_v3(width: int = 32, seed: int = 0, size: int = 299, bias: bool = True) -> Graph:
    """Build Inception-v3, without the auxiliary classifier that only training uses."""
    net = _Inception(seed, bias, width)
    value = net.halving(net.input("x", 1, 3, size, size), 32)
    value = net.conv_relu(value, net.scaled(32), 3, pad=0)
    value = net.max_pool(net.chain(value, (64, 3)))
    value = net.chain(value, (80, 1))
    value = net.max_pool(net.conv_relu(value, net.scaled(192), 3, pad=0))
    for pooled in (32, 64, 64):
        value = _inception_a(net, value, pooled)
    value = net.concat(
        [
            net.halving(value, 384),
            net.halving(net.chain(value, (64, 1), (96, 3)), 96),
            net.max_pool(value),
        ]
    )
    for inner in (128, 160, 160, 192):
        value = _inception_c(net, value, inner)
    value = net.concat(
        [
            net.halving(net.chain(value, (192, 1)), 320),
            net.halving(net.chain(value, (192, 1), (192, _ROW), (192, _COLUMN)), 192),
            net.max_pool(value),
        ]
    )
    for _ in range(2):
        value = _inception_e(net, value)
    return net.classify(value)


def _inception_a(net: _Inception, value: int, pooled: int) -> int:
    return net.concat(
        [
            net.chain(value, (64, 1)),
            net.chain(value, (48, 1), (64, 5)),
            net.chain(value, (64, 1), (96, 3), (96, 3)),
            net.chain(net.average_pool(value), (pooled, 1)),
        ]
    )


def _inception_c(net: _Inception, value: int, inner: int) -> int:
    twice = ((inner, _COLUMN), (inner, _ROW), (inner, _COLUMN), (192, _ROW))
    return net.concat(
        [
            net.chain(value, (192, 1)),
            net.chain(value, (inner, 1), (inner, _ROW), (192, _COLUMN)),
            net.chain(value, (inner, 1), *twice),
            net.chain(net.average_pool(value), (192, 1)),
        ]
    )


def _inception_e(net: _Inception, value: int) -> int:
    forks = (net.chain(value, (384, 1)), net.chain(value, (448, 1), (384, 3)))
    return net.concat(
        [
            net.chain(value, (320, 1)),
            *(net.chain(fork, (384, kernel)) for fork in forks for kernel in ((1, 3), (3, 1))),
            net.chain(net.average_pool(value), (192, 1)),
        ]
    )


def nasnet_a(
    width: int = 128, seed: int = 0, size: int = 56, bias: bool = False, cells: int = 5
) -> Graph:
    """Build NasNet-A's cells as TASO's and TenSat's programs do: three stages, no stem, no classifier.

    Each stage is `cells` normal cells and a reducing one, at twice the channels of the one before. As
    there, each convolution is separable once where the published network repeats it, without activation
    between, and the two inputs of a stage's first cell are the same value.
    """
    net = Convnet(seed, bias)
    entering = net.input("x", 1, width, size, size)
    for stage in range(3):
        channels = width << stage
        before = value = entering
        for _ in range(cells):
            before, value = value, _normal_cell(net, before, value, channels)
        entering = _reduction_cell(net, before, value, channels)
    return net.build([entering])


def _separable(net: Convnet, channels: int) -> Callable[..., int]:
    def apply(value: int, kernel: int, stride: int = 1) -> int:
        inner = net.conv(value, channels, kernel, stride, group=channels, gain=_SEPARABLE_GAIN)
        return net.conv(inner, channels, gain=_SEPARABLE_GAIN)

    return apply


def _normal_cell(net: Convnet, before: int, value: int, channels: int) -> int:
    value, before = net.conv_relu(value, channels), net.conv_relu(before, channels)
    separable = _separable(net, channels)

    def average(item: int) -> int:
        return net.average_pool(item, count_include_pad=False)

    return net.concat(
        [
            net.apply(Add(), separable(value, 3), value),
            net.apply(Add(), separable(before, 3), separable(value, 3)),
            net.apply(Add(), average(value), before),
            net.apply(Add(), average(before), average(before)),
            net.apply(Add(), separable(before, 3), separable(before, 3)),
        ]
    )


def _reduction_cell(net: Convnet, before: int, value: int, channels: int) -> int:
    value, before = net.conv_relu(value, channels), net.conv_relu(before, channels)
    separable = _separable(net, channels)
    largest = net.max_pool(value, pad=1)
    average = net.average_pool(value, stride=2, count_include_pad=False)
    first = net.apply(Add(), separable(before, 7, 2), separable(value, 5, 2))
    second = net.apply(Add(), largest, separable(before, 7, 2))
    third = net.apply(Add(), average, separable(before, 5, 2))
    fourth = net.apply(Add(), largest, separable(first, 3))
    fifth = net.apply(Add(), net.average_pool(first, count_include_pad=False), second)
    return net.concat([first, second, third, fourth, fifth])
