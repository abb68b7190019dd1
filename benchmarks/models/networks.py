"""The papers' networks: all of them by name, and as models of the latency benchmark.

Every function takes the width, so that tests can use the same networks small. Does not optimise or time
anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import onnx

from benchmarks.models.branching import inception_v3, nasnet_a
from benchmarks.models.builder import to_model
from benchmarks.models.convnets import (
    alexnet,
    mobilenet_v2,
    resnet50,
    resnext50,
    resnext50_branches,
    squeezenet,
    vgg19,
)
from benchmarks.models.entry import Entry, normal
from benchmarks.models.recurrent import nasrnn, nasrnn_unshared, nmt, rnntc
from benchmarks.models.transformers import bert_encoder, bert_tensat
from tensaur.ir.graph import Graph


class Build(Protocol):
    """A function that builds a network of a given width."""

    def __call__(self, width: int = ..., seed: int = ...) -> Graph:
        """Build it."""


NETWORKS: Mapping[str, Build] = {
    "nasrnn": nasrnn,
    "nasrnn-unshared": nasrnn_unshared,
    "bert-tensat": bert_tensat,
    "bert-encoder": bert_encoder,
    "alexnet": alexnet,
    "inception-v3": inception_v3,
    "mobilenet-v2": mobilenet_v2,
    "nasnet-a": nasnet_a,
    "nmt": nmt,
    "resnet50": resnet50,
    "resnext50": resnext50,
    "resnext50-branches": resnext50_branches,
    "rnntc": rnntc,
    "squeezenet": squeezenet,
    "vgg19": vgg19,
}
# The networks of the published latency table; the others are timed on request.
_PUBLISHED = ("nasrnn", "nasrnn-unshared", "bert-tensat", "bert-encoder")


def _steps(count: int, width: int) -> dict[str, tuple[int, ...]]:
    return {f"x{step}": (1, width) for step in range(count)}


_PICTURE: dict[str, tuple[int, ...]] = {"x": (1, 3, 224, 224)}
_SHAPES: Mapping[str, dict[str, tuple[int, ...]]] = {
    "nasrnn": _steps(5, 512),
    "nasrnn-unshared": _steps(5, 512),
    "bert-tensat": {"x": (64, 1024)},
    "bert-encoder": {"x": (128, 768)},
    "inception-v3": {"x": (1, 3, 299, 299)},
    "nasnet-a": {"x": (1, 128, 56, 56)},
    "nmt": {**_steps(10, 1024), "memory": (1, 1024)},
    "rnntc": {**_steps(20, 1024), "memory": (1, 1024)},
}


def _entry(name: str, build: Build) -> Entry:
    def place(path: Path) -> Path:
        onnx.save(to_model(build()), path)
        return path

    inputs = {port: normal(*shape) for port, shape in _SHAPES.get(name, _PICTURE).items()}
    return Entry(name, "network", place, inputs, extra=name not in _PUBLISHED)


PAPERS = tuple(_entry(name, build) for name, build in NETWORKS.items())
