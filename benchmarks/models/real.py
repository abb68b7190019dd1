"""Real models: the light networks of the `onnx` package, and models that packages on PyPI ship.

Holds one entry for each: where it comes from, and inputs as its package would feed them. Does not hold
model files; they stay under their own licences in the user's cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import onnx

from benchmarks.models.entry import Draw, Entry, normal, number, tokens, uniform, zeros
from benchmarks.models.light import light_names, light_ports, load_light
from benchmarks.models.wheels import Wheel

# Versions are pinned: a table can only be made again from the same files.
RAPIDOCR = Wheel("rapidocr-onnxruntime", "1.4.4")  # Apache-2.0; models of PaddleOCR, Apache-2.0
DDDDOCR = Wheel("ddddocr", "1.6.1")  # MIT
NUDENET = Wheel("nudenet", "3.4.2")  # AGPL-3.0 by its licence file, MIT by its metadata
MAGIKA = Wheel("magika", "1.0.3")  # Apache-2.0
SILERO = Wheel("silero-vad", "6.2.3")  # MIT

# 512 new samples at 16 kHz after 64 samples of context, as the package's wrapper joins them.
_SILERO_SAMPLES = 64 + 512


def _light(name: str) -> Entry:
    def place(path: Path) -> Path:
        onnx.save(load_light(name), path)
        return path

    inputs = {port: normal(*shape) for port, shape in light_ports(name).items()}
    return Entry(f"light-{name}", "light", place, inputs)


def _shipped(
    name: str,
    wheel: Wheel,
    member: str,
    inputs: Mapping[str, Draw],
    sizes: Mapping[str, int] | None = None,
    extra: bool = False,
) -> Entry:
    return Entry(name, "shipped", lambda path: wheel.model(member), inputs, sizes or {}, extra)


_rapidocr = partial(_shipped, wheel=RAPIDOCR)
_silero = partial(_shipped, wheel=SILERO)

_SILERO_STATE = {
    "input": uniform(1, _SILERO_SAMPLES, low=-0.1, high=0.1),
    "state": zeros(2, 1, 128),
}
_SILERO_RATE = {**_SILERO_STATE, "sr": number(16000)}
_SILERO_SIZES = {"batch": 1, "sequence": _SILERO_SAMPLES}

LIGHT = tuple(_light(name) for name in light_names())

SHIPPED = (
    _rapidocr(
        "rapidocr-det",
        member="rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        inputs={"x": uniform(1, 3, 640, 640)},
        sizes={
            "p2o.DynamicDimension.0": 1,
            "p2o.DynamicDimension.1": 640,
            "p2o.DynamicDimension.2": 640,
        },
    ),
    _rapidocr(
        "rapidocr-rec",
        member="rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        inputs={"x": uniform(1, 3, 48, 320)},
        sizes={"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 320},
    ),
    _rapidocr(
        "rapidocr-cls",
        member="rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        inputs={"x": uniform(1, 3, 48, 192)},
    ),
    _shipped(
        "ddddocr",
        DDDDOCR,
        "ddddocr/common.onnx",
        {"input1": uniform(1, 1, 64, 160)},
        {"image_width": 160},
    ),
    _shipped(
        "nudenet",
        NUDENET,
        "nudenet/320n.onnx",
        {"images": uniform(1, 3, 320, 320, low=0.0)},
        {"batch": 1, "height": 320, "width": 320},
    ),
    _shipped(
        "magika",
        MAGIKA,
        "magika/models/standard_v3_3/model.onnx",
        {"bytes": tokens(1, 2048, count=257)},
        {"unk__214": 1},
    ),
    _silero("silero-vad", member="silero_vad/data/silero_vad.onnx", inputs=_SILERO_RATE),
    _silero(
        "silero-vad-op15",
        member="silero_vad/data/silero_vad_16k_op15.onnx",
        inputs=_SILERO_RATE,
        sizes=_SILERO_SIZES,
    ),
    _silero(
        "silero-vad-sequence",
        member="silero_vad/data/silero_vad_16k_sequence.onnx",
        # One second of sound.
        inputs={
            "input": uniform(31, _SILERO_SAMPLES, low=-0.1, high=0.1),
            "h": zeros(1, 1, 128),
            "c": zeros(1, 1, 128),
        },
        sizes={"sequence_length": 31},
    ),
    _shipped(
        "ddddocr-old",
        DDDDOCR,
        "ddddocr/common_old.onnx",
        {"input1": uniform(1, 1, 64, 160)},
        {"image_width": 160},
        extra=True,
    ),
    _shipped(
        "ddddocr-det",
        DDDDOCR,
        "ddddocr/common_det.onnx",
        {"images": uniform(1, 3, 416, 416)},
        extra=True,
    ),
    _silero(
        "silero-vad-half",
        member="silero_vad/data/silero_vad_half.onnx",
        inputs=_SILERO_STATE,
        sizes=_SILERO_SIZES,
        extra=True,
    ),
    _silero(
        "silero-vad-ifless",
        member="silero_vad/data/silero_vad_op18_ifless.onnx",
        inputs=_SILERO_RATE,
        sizes=_SILERO_SIZES,
        extra=True,
    ),
    _silero(
        "silero-vad-openvino",
        member="silero_vad/data/silero_vad_openvino_16k.onnx",
        inputs=_SILERO_STATE,
        extra=True,
    ),
)
