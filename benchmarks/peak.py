"""Peak memory on paper against what ONNX Runtime takes: `python -m benchmarks.peak [NETWORK ...]`.

Each network runs once in a fresh process. Memory is the process's resident set, above what it was before
the model was opened (so inputs, which were there, are left out of both figures): once with plain
allocation, once with ONNX Runtime's memory arena, its default.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from benchmarks.memory import peak_mb, reset_peak, resident_mb
from benchmarks.models.networks import PAPERS
from tensaur import onnx_io
from tensaur.cost.metrics import metrics
from tensaur.cost.sizes import graph_sizes

DEFAULT = ("inception-v3", "resnet50", "squeezenet", "mobilenet-v2", "bert-encoder")
# glibc's option for the size above which freed memory goes back to the system at once.
_MMAP_THRESHOLD, _NBYTES = -3, 1 << 16


def main(names: list[str]) -> None:
    """Print a row for every network: MB of constants, on paper, taken plainly, taken with the arena."""
    print(f"{'network':<16} {'constants':>9} {'paper':>9} {'plain':>9} {'arena':>9}   MB")
    with tempfile.TemporaryDirectory() as folder:
        for entry in PAPERS:
            if entry.name in (names or DEFAULT):
                path = entry.place(Path(folder) / f"{entry.name}.onnx")
                feeds = entry.feeds()
                np.savez(Path(folder) / "feeds.npz", **feeds)
                graph = onnx_io.read(path).graph
                found = metrics(graph, graph_sizes(graph, entry.sizes))
                paper = found.peak_memory - sum(array.nbytes for array in feeds.values())
                taken = [_run_apart(path, arena) for arena in (False, True)]
                row = [found.size / 1e6, paper / 1e6, *taken]
                print(f"{entry.name:<16} " + " ".join(f"{value:9.2f}" for value in row), flush=True)


def _run_apart(path: Path, arena: bool) -> float:
    command = [sys.executable, "-m", "benchmarks.peak", "--child", str(path), str(int(arena))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def child(path: Path, arena: bool) -> None:
    """Open and run a model, and print how many MB that took at the most."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = options.enable_mem_pattern = arena
    # A packed copy of the weights is the kernels' own; the paper counts weights once.
    options.add_session_config_entry("session.disable_prepacking", "1")
    with np.load(path.with_name("feeds.npz")) as archive:
        feeds = {name: archive[name] for name in archive.files}
    system = ctypes.CDLL(None)
    system.mallopt(_MMAP_THRESHOLD, _NBYTES)
    _warm_up(options)
    before = _settled(system)
    session = ort.InferenceSession(str(path), options)
    _settled(system)  # reading the file takes more than the model does afterwards
    reset_peak()
    session.run(None, feeds)
    print((peak_mb() or 0.0) - before)


def _warm_up(options: ort.SessionOptions) -> None:
    """Let the library take what it takes once, whatever runs."""
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    session = ort.InferenceSession(model.SerializeToString(), options)
    session.run(None, {"x": np.zeros(4, np.float32)})


def _settled(system: ctypes.CDLL) -> float:
    gc.collect()
    system.malloc_trim(0)
    return resident_mb() or 0.0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3] == "1")
    else:
        main(sys.argv[1:])
