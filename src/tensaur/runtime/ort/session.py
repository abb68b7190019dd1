"""The one way to open and run a model under ONNX Runtime.

Holds `OrtSession`. Does not make inputs, compare outputs or time anything.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tensaur.errors import RuntimeFailure, RuntimeRefusal, one_line
from tensaur.ir.types import DType
from tensaur.runtime.protocol import Feeds, InFolder, Model, Port, Settings, Value

# Changes the runtime's session options.
Prepare = Callable[[Any], None]

_FATAL = 4
_FOLDER_OPTION = "session.model_external_initializers_file_folder_path"

_DTYPES = {
    "float": DType.FLOAT32,
    "double": DType.FLOAT64,
    "float16": DType.FLOAT16,
    "bfloat16": DType.BFLOAT16,
    "float8e4m3fn": DType.FLOAT8E4M3FN,
    "float8e4m3fnuz": DType.FLOAT8E4M3FNUZ,
    "float8e5m2": DType.FLOAT8E5M2,
    "float8e5m2fnuz": DType.FLOAT8E5M2FNUZ,
    "complex64": DType.COMPLEX64,
    "complex128": DType.COMPLEX128,
    "bool": DType.BOOL,
    "string": DType.STRING,
    "int4": DType.INT4,
    "uint4": DType.UINT4,
    **{
        f"{sign}int{bits}": DType(f"{sign or 'i'}{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
# NumPy arrays of these types reach the runtime only as bytes plus the number of the ONNX type.
_ONNX_NUMBERS = {
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E4M3FNUZ: 18,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 20,
}


@dataclass
class OrtSession:
    """An open model; `model` and `settings` are kept so that it can be opened again.

    `overwritten` names the outputs that a runner writes into an input's memory, and that input.
    """

    model: Model
    settings: Settings
    _session: Any
    _keep: object = field(default=None, repr=False)
    overwritten: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        """Return the inputs that have to be given."""
        return tuple(_port(item) for item in self._session.get_inputs())

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        """Return the outputs."""
        return tuple(_port(item) for item in self._session.get_outputs())

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """Run once and return the outputs by name; RuntimeFailure if the runtime refuses."""
        names = [port.name for port in self.outputs]
        try:
            if self._is_exotic:
                values = self._session.run_with_ort_values(names, _ort_values(feeds))
                return {name: _to_array(value) for name, value in zip(names, values, strict=True)}
            values = self._session.run(names, dict(feeds))
        except Exception as error:
            raise _failure("running the model failed", error) from error
        return dict(zip(names, values, strict=True))

    def runner(self, feeds: Feeds) -> Callable[[], None]:
        """Return a function that runs once on these inputs, with as little around the run as possible."""
        session = self._session
        try:
            binding, values = session.io_binding(), _ort_values(feeds)
            for name, value in values.items():
                binding.bind_ortvalue_input(name, value)
            for port in self.outputs:
                if port.name in self.overwritten:
                    binding.bind_ortvalue_output(port.name, values[self.overwritten[port.name]])
                else:
                    binding.bind_output(port.name)
            # Twice: the second run writes into what the first one allocated, which outputs whose
            # declared type is wrong, or whose size differs from run to run, do not survive.
            for _ in range(2):
                session.run_with_iobinding(binding)
        except Exception:  # neither do strings and sequences, which cannot be bound
            return self._plain_runner(feeds)
        raw, bound = session._sess, binding._iobinding  # the wrapper costs a tenth of a short run

        # The runtime reads the arrays where they are, so the function keeps them.
        def run(_kept: object = values) -> None:
            try:
                raw.run_with_iobinding(bound, None)
            except Exception as error:
                raise _failure("running the model failed", error) from error

        return run

    def reopened(self, settings: Settings | None = None) -> OrtSession:
        """Open the same model once more, by default with the same settings."""
        return open_session(self.model, settings or self.settings)

    def end_profiling(self) -> Path:
        """Return the file that the runtime's profiler wrote, of a session opened with profiling on."""
        return Path(self._session.end_profiling())

    def _plain_runner(self, feeds: Feeds) -> Callable[[], None]:
        self.run(feeds)

        def run() -> None:
            self.run(feeds)

        return run

    @cached_property
    def _is_exotic(self) -> bool:
        return any(port.dtype in _ONNX_NUMBERS for port in (*self.inputs, *self.outputs))


def open_session(
    model: Model, settings: Settings | None = None, prepare: Prepare | None = None
) -> OrtSession:
    """Open a model on the CPU; RuntimeFailure, in one line, if the runtime refuses it.

    `prepare` may change the runtime's own session options before the model is opened with them.
    """
    settings = settings or Settings()
    ort = _onnxruntime()
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = settings.threads
    options.inter_op_num_threads = 1
    level = "ORT_ENABLE_ALL" if settings.optimised else "ORT_DISABLE_ALL"
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    if isinstance(model, InFolder):
        options.add_session_config_entry(_FOLDER_OPTION, str(model.folder.resolve()))
    if prepare is not None:
        prepare(options)
    source, keep = _source(model.model if isinstance(model, InFolder) else model)
    try:
        session = ort.InferenceSession(
            source,
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=list(settings.without),
        )
    except Exception as error:
        raise RuntimeRefusal(f"the runtime refuses the model: {_reason(error)}") from error
    return OrtSession(model, settings, session, keep)


def version() -> str:
    """Return the version of the runtime."""
    return str(_onnxruntime().__version__)


def _reason(error: BaseException) -> str:
    """Return an error's message as one line, without the runtime's status prefix."""
    text = one_line(error)
    return text.split(" : ", 3)[-1] if text.startswith("[ONNXRuntimeError]") else text


@cache
def _onnxruntime() -> Any:
    # The call below comes too late for what is written and sent while the runtime is loaded.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # noqa: PLC0415  # heavy: imported when used

    onnxruntime.set_default_logger_severity(_FATAL)
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _source(model: Model) -> tuple[str | bytes, object]:
    if isinstance(model, (bytes, bytearray)):
        return bytes(model), None
    if isinstance(model, (str, os.PathLike)):
        path = Path(model)
        if not path.is_file():
            raise RuntimeFailure(f"{path}: no such file")
        return str(path), None
    try:
        return model.SerializeToString(), None
    except Exception:  # protobuf holds at most 2 GB in one message
        return _source_on_disk(model)


def _source_on_disk(model: Model) -> tuple[str, object]:
    import onnx  # noqa: PLC0415  # heavy: imported when used

    folder = tempfile.TemporaryDirectory(prefix="tensaur-")
    path = Path(folder.name) / "model.onnx"
    copy = onnx.ModelProto()
    copy.CopyFrom(model)  # saving to external data empties the tensors
    try:
        onnx.save_model(copy, str(path), save_as_external_data=True, location="model.data")
    except Exception as error:
        raise _failure("the model cannot be serialised", error) from error
    return str(path), folder


def _failure(place: str, error: BaseException) -> RuntimeFailure:
    return RuntimeFailure(f"{place}: {_reason(error)}")


def _port(item: Any) -> Port:
    kind: str = item.type
    inner = kind.removeprefix("tensor(").removesuffix(")") if kind.startswith("tensor(") else ""
    dims = tuple(
        dim if isinstance(dim, int) or (dim and not dim.startswith("?")) else f"?{item.name}.{axis}"
        for axis, dim in enumerate(item.shape)
    )
    return Port(item.name, kind, _DTYPES.get(inner), dims)


def _ort_values(feeds: Feeds) -> dict[str, Any]:
    values = _onnxruntime().OrtValue
    result = {}
    for name, array in feeds.items():
        number = _ONNX_NUMBERS.get(DType.of(array.dtype))
        if number is None:
            result[name] = values.ortvalue_from_numpy(np.ascontiguousarray(array))
            continue
        raw = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        result[name] = values.ortvalue_from_numpy_with_onnx_type(raw, number)
    return result


def _to_array(value: Any) -> Value:
    dtype = _DTYPES.get(value.data_type().removeprefix("tensor(").removesuffix(")"))
    if dtype not in _ONNX_NUMBERS or dtype is None:
        return value.numpy()
    shape = tuple(value.shape())
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.numpy.itemsize
    data = ctypes.string_at(value.data_ptr(), nbytes) if nbytes else b""
    return np.frombuffer(data, dtype=dtype.numpy).reshape(shape)
