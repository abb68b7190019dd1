"""Convolutional networks for pictures: the plain ones, the residual ones, MobileNet and SqueezeNet.

Batch normalisation is folded into the convolutions' weights and biases, as exporters do. `bias` False
leaves the biases out, as TASO's and TenSat's programs do, so that their rules for convolutions match.

Every network's `width` is the number of channels of its first layer, by which all others scale; `size` is
the height and width of the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt

from benchmarks.models.builder import Network
from tensaur.ir.graph import Graph
from tensaur.ops import (
    Add,
    AveragePool,
    Clip,
    Concat,
    Conv,
    Flatten,
    Gemm,
    GlobalAveragePool,
    MaxPool,
    Relu,
)

CLASSES = 1000
# Keeps the size of the signal about equal over many residual blocks.
_RESIDUAL_GAIN = 0.5
Window = tuple[int, int]


class Convnet(Network):
    """A convolutional network under construction."""

    def __init__(self, seed: int, bias: bool = True) -> None:
        super().__init__(seed)
        self._bias = bias

    def conv(
        self,
        value: int,
        channels: int,
        kernel: int | Window = 1,
        stride: int = 1,
        pad: int | None = None,
        group: int = 1,
        gain: float = sqrt(2),
    ) -> int:
        """Convolve, by default padded so that stride 1 keeps the size."""
        height, width = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = (height // 2, width // 2) if pad is None else (pad, pad)
        inner = self.shape(value)[1] // group
        scale = gain / sqrt(inner * height * width)
        weight = self.weight(channels, inner, height, width, scale=scale)
        biases = [self.weight(channels, scale=0.1)] if self._bias else []
        op = Conv(strides=(stride, stride), pads=(*pads, *pads), group=group)
        return self.apply(op, value, weight, *biases)

    def relu(self, value: int) -> int:
        """Apply Relu."""
        return self.apply(Relu(), value)

    def conv_relu(
        self,
        value: int,
        channels: int,
        kernel: int | Window = 1,
        stride: int = 1,
        pad: int | None = None,
        group: int = 1,
    ) -> int:
        """Convolve and apply Relu."""
        return self.relu(self.conv(value, channels, kernel, stride, pad, group))

    def max_pool(self, value: int, kernel: int = 3, stride: int = 2, pad: int = 0) -> int:
        """Take maxima over windows."""
        op = MaxPool(kernel=(kernel, kernel), strides=(stride, stride), pads=(pad,) * 4)
        return self.apply(op, value)

    def average_pool(self, value: int, stride: int = 1, count_include_pad: bool = True) -> int:
        """Take averages over padded windows of 3x3."""
        op = AveragePool(
            kernel=(3, 3),
            strides=(stride, stride),
            pads=(1,) * 4,
            count_include_pad=count_include_pad,
        )
        return self.apply(op, value)

    def concat(self, values: Sequence[int]) -> int:
        """Join channels."""
        return self.apply(Concat(axis=1), *values)

    def dense(self, value: int, outer: int, gain: float = 1.0) -> int:
        """Multiply by a matrix and add a bias, as PyTorch exports it."""
        inner = prod(self.shape(value)[1:])
        weight = self.weight(outer, inner, scale=gain / sqrt(inner))
        bias = self.weight(outer, scale=0.1)
        return self.apply(Gemm(trans_b=True), value, weight, bias)

    def classify(self, value: int) -> Graph:
        """Return the graph that ends in the average over the picture and one dense layer."""
        pooled = self.apply(Flatten(axis=1), self.apply(GlobalAveragePool(), value))
        return self.build([self.dense(pooled, CLASSES)])


def alexnet(width: int = 64, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build AlexNet in its one-column form, without local response normalisation."""
    net = Convnet(seed, bias)
    value = net.conv_relu(net.input("x", 1, 3, size, size), width, 11, stride=4, pad=2)
    value = net.conv_relu(net.max_pool(value), 3 * width, 5)
    value = net.max_pool(value)
    for factor in (6, 4, 4):
        value = net.conv_relu(value, factor * width, 3)
    return _dense_head(net, net.max_pool(value), 64 * width)


def vgg19(width: int = 64, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build VGG-19."""
    net = Convnet(seed, bias)
    value = net.input("x", 1, 3, size, size)
    for factor, count in ((1, 2), (2, 2), (4, 4), (8, 4), (8, 4)):
        for _ in range(count):
            value = net.conv_relu(value, factor * width, 3)
        value = net.max_pool(value, 2)
    return _dense_head(net, value, 64 * width)


def _dense_head(net: Convnet, value: int, hidden: int) -> Graph:
    value = net.apply(Flatten(axis=1), value)
    for _ in range(2):
        value = net.relu(net.dense(value, hidden, gain=sqrt(2)))
    return net.build([net.dense(value, CLASSES)])


def squeezenet(width: int = 64, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build SqueezeNet 1.1."""
    net = Convnet(seed, bias)
    value = net.conv_relu(net.input("x", 1, 3, size, size), width, 3, stride=2, pad=0)
    for sixteenths in ((4, 4), (8, 8), (12, 12, 16, 16)):
        value = net.max_pool(value)
        for count in sixteenths:
            squeezed = net.conv_relu(value, count * width // 16)
            expanded = count * width // 4
            value = net.concat(
                [net.conv_relu(squeezed, expanded), net.conv_relu(squeezed, expanded, 3)]
            )
    value = net.apply(GlobalAveragePool(), net.conv_relu(value, CLASSES))
    return net.build([net.apply(Flatten(axis=1), value)])


Middle = Callable[[Convnet, int, int, int], int]


def resnet50(width: int = 64, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build ResNet-50, with the strides in the 3x3 convolutions."""
    return _residual(Convnet(seed, bias), width, size, _plain_middle, 1)


def resnext50(
    width: int = 64,
    seed: int = 0,
    size: int = 224,
    bias: bool = True,
    cardinality: int = 32,
    branches: bool = False,
) -> Graph:
    """Build ResNeXt-50 of 32 groups of 4 channels: grouped convolutions, or as many `branches`.

    A branch is a 1x1 convolution and a 3x3 one, of the channels of one group. There are no more groups
    than the narrowest grouped convolution has channels.
    """
    groups = min(cardinality, 2 * width)

    def grouped(net: Convnet, value: int, channels: int, stride: int) -> int:
        return net.conv_relu(net.conv_relu(value, channels), channels, 3, stride, group=groups)

    def branched(net: Convnet, value: int, channels: int, stride: int) -> int:
        part = channels // groups
        return net.concat(
            [net.conv_relu(net.conv_relu(value, part), part, 3, stride) for _ in range(groups)]
        )

    return _residual(Convnet(seed, bias), width, size, branched if branches else grouped, 2)


def resnext50_branches(width: int = 64, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build ResNeXt-50 with separate branches in place of grouped convolutions."""
    return resnext50(width, seed, size, bias, branches=True)


def _plain_middle(net: Convnet, value: int, channels: int, stride: int) -> int:
    return net.conv_relu(net.conv_relu(value, channels), channels, 3, stride)


def _residual(net: Convnet, width: int, size: int, middle: Middle, widening: int) -> Graph:
    """Build 50 layers of residual blocks; `middle` is what stands before a block's last convolution."""
    value = net.conv_relu(net.input("x", 1, 3, size, size), width, 7, stride=2)
    value = net.max_pool(value, pad=1)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        channels = width << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            inner = middle(net, value, widening * channels, stride)
            inner = net.conv(inner, 4 * channels, gain=_RESIDUAL_GAIN)
            if not block:
                value = net.conv(value, 4 * channels, stride=stride, gain=1.0)
            value = net.relu(net.apply(Add(), inner, value))
    return net.classify(value)


def mobilenet_v2(width: int = 32, seed: int = 0, size: int = 224, bias: bool = True) -> Graph:
    """Build MobileNet-v2."""
    net = Convnet(seed, bias)
    value = _relu6(net, net.conv(net.input("x", 1, 3, size, size), width, 3, stride=2))
    plan = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2))
    later = ((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for expansion, channels, blocks, first_stride in (*plan, *later):
        for block in range(blocks):
            stride = 1 if block else first_stride
            value = _inverted(net, value, channels * width // 32, expansion, stride)
    return net.classify(_relu6(net, net.conv(value, 40 * width)))


def _inverted(net: Convnet, value: int, channels: int, expansion: int, stride: int) -> int:
    """Apply MobileNet-v2's block: expand, filter each channel, project."""
    before = net.shape(value)[1]
    hidden = expansion * before
    inner = _relu6(net, net.conv(value, hidden)) if expansion > 1 else value
    inner = _relu6(net, net.conv(inner, hidden, 3, stride, group=hidden))
    inner = net.conv(inner, channels, gain=1.0)
    return net.apply(Add(), value, inner) if stride == 1 and before == channels else inner


def _relu6(net: Convnet, value: int) -> int:
    return net.apply(Clip(), value, net.constant(0.0), net.constant(6.0))
