"""Recurrent networks, unrolled over time: NasRNN, and MetaFlow's two networks of simple recurrent units."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.models.builder import Network
from tensaur.ir.graph import Graph
from tensaur.ir.operator import Operator
from tensaur.ops import Add, MatMul, Mul, Relu, Sigmoid, Tanh


def nasrnn(width: int = 512, seed: int = 0, steps: int = 5, shared: bool = True) -> Graph:
    """Build NasRNN, the recurrent cell found by architecture search, unrolled.

    `shared` weights are the same at every step, as in any recurrent network. TASO's and TenSat's
    programs draw new ones at every step (`shared` False), which leaves nothing to batch over time.
    """
    net = Network(seed)
    inputs = [net.input(f"x{step}", 1, width) for step in range(steps)]
    state = net.weight(1, width, scale=1.0)
    gates: list[tuple[int, int]] = []
    for value in inputs:
        if not (gates and shared):
            gates = [(net.weight(width, width), net.weight(width, width)) for _ in range(8)]
        state = _nas_cell(net, value, state, gates)
    return net.build([state])


def _nas_cell(net: Network, value: int, state: int, gates: Sequence[tuple[int, int]]) -> int:
    def gate(number: int, activation: Operator) -> int:
        weight, recurrent = gates[number]
        product = net.apply(MatMul(), value, weight)
        return net.apply(
            activation, net.apply(Add(), product, net.apply(MatMul(), state, recurrent))
        )

    relu, sigmoid, tanh = Relu(), Sigmoid(), Tanh()
    first = net.apply(Add(), gate(0, relu), gate(3, sigmoid))
    second = net.apply(Add(), gate(1, sigmoid), gate(2, tanh))
    third = net.apply(Mul(), gate(4, sigmoid), gate(5, tanh))
    fourth = net.apply(Mul(), gate(6, sigmoid), gate(7, relu))
    upper = net.apply(Add(), net.apply(sigmoid, second), net.apply(tanh, third))
    lower = net.apply(Mul(), net.apply(tanh, first), net.apply(tanh, fourth))
    joined = net.apply(Mul(), net.apply(tanh, upper), net.apply(tanh, lower))
    return net.apply(tanh, joined)


def nasrnn_unshared(width: int = 512, seed: int = 0) -> Graph:
    """Build NasRNN with new weights at every step, as TASO's and TenSat's programs do."""
    return nasrnn(width, seed, shared=False)


def rnntc(width: int = 1024, seed: int = 0, steps: int = 20) -> Graph:
    """Build MetaFlow's RNNTC, the recurrent part of a text classifier: one layer of recurrent units.

    It has 11 operators at each of 20 steps, the 220 kernels that MetaFlow's paper counts. Embeddings and
    the classifier are left out, as there; the states of all steps are outputs.
    """
    net = Network(seed)
    values = [net.input(f"x{step}", 1, width) for step in range(steps)]
    memory = net.input("memory", 1, width)
    gates = _unit_weights(net, width)
    outputs = []
    for value in values:
        memory, hidden = _simple_unit(net, value, memory, gates)
        outputs.append(hidden)
    return net.build(outputs)


def nmt(width: int = 1024, seed: int = 0, steps: int = 10, layers: int = 2) -> Graph:
    """Build MetaFlow's NMT, a translator without attention: an encoder, then a decoder of as many steps.

    The decoder starts from the encoder's memory and reads its own last output. By default there are 40
    units of 11 operators, the 440 kernels that MetaFlow's paper counts; its program on the web has twice
    as many steps. Embeddings and the choice of words are left out, as there; the last layer's states are
    outputs, first the encoder's, then the decoder's.
    """
    net = Network(seed)
    values = [net.input(f"x{step}", 1, width) for step in range(steps)]
    memories = [net.input("memory", 1, width)] * layers
    encoder = [_unit_weights(net, width) for _ in range(layers)]
    decoder = [_unit_weights(net, width) for _ in range(layers)]
    outputs = [_through_layers(net, value, memories, encoder) for value in values]
    for _ in range(steps):
        outputs.append(_through_layers(net, outputs[-1], memories, decoder))
    return net.build(outputs)


def _unit_weights(net: Network, width: int) -> Sequence[int]:
    return [net.weight(width, width) for _ in range(3)]


def _through_layers(
    net: Network, value: int, memories: list[int], layers: Sequence[Sequence[int]]
) -> int:
    """Apply one step of all layers, replacing their memories, and return the last one's state."""
    for number, gates in enumerate(layers):
        memories[number], value = _simple_unit(net, value, memories[number], gates)
    return value


def _simple_unit(net: Network, value: int, memory: int, gates: Sequence[int]) -> tuple[int, int]:
    """Apply a simple recurrent unit as MetaFlow writes it and return its new memory and state.

    The unit as published weights the second terms by one minus the gate; here they are weighted by the
    gate itself, so that it can be factored out.
    """

    def gated(gate: int, first: int, second: int) -> int:
        return net.apply(Add(), net.apply(Mul(), gate, first), net.apply(Mul(), gate, second))

    content, forget, reset = (net.apply(MatMul(), value, weight) for weight in gates)
    memory = gated(net.apply(Sigmoid(), forget), memory, content)
    return memory, gated(net.apply(Sigmoid(), reset), memory, value)
