"""Every operator class against ONNX: types against shape inference, values against two evaluators."""

from random import Random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidGraph, NotImplemented

from tensaur import ops
from tensaur.errors import TensaurError
from tensaur.ir.dims import is_nonnegative
from tensaur.ir.operator import Work, evaluate
from tensaur.ir.types import DType
from tests.ops.draws import LATEST, arrays, draw, feeds, items_of, model_of, opsets

DTYPES = (
    DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16, DType.INT64, DType.INT32,
    DType.INT8, DType.UINT8, DType.BOOL,
)  # fmt: skip
CASES = [
    pytest.param(cls, dtype, id=f"{cls.__name__}-{dtype.value}")
    for cls in ops.OPERATORS
    for dtype in DTYPES
    if draw(cls, Random(0), dtype) is not None
]
# Neither evaluator runs what is left out here.
JUDGED = [
    case
    for case in CASES
    if case.values[1] not in (DType.BFLOAT16, DType.INT8, DType.UINT8)
    and case.values != (ops.LRN, DType.FLOAT64)
]
# Attributes are single precision in ONNX, and runtimes approximate: doubles agree to about 1e-7.
TOLERANCE = {DType.FLOAT64: 1e-6, DType.FLOAT32: 3e-5, DType.FLOAT16: 1e-2}


def reference_is_wrong(op, rank, opset):
    """Tell whether onnx.reference is known to compute this wrongly; ONNX Runtime then judges alone."""
    return (
        getattr(op, "ceil_mode", False)  # it rounds down, or counts windows beyond the input
        or (isinstance(op, ops.ConvTranspose) and (op.group > 1 or any(op.output_padding)))
        or (isinstance(op, ops.GlobalMaxPool) and rank != 4)
        # It takes indices outside the axis modulo its length; a channel window is cut at the batch size.
        or isinstance(op, (ops.OneHot, ops.LRN))
        or (isinstance(op, ops.Unsqueeze) and opset < 13)  # several negative axes
    )


def draws(cls, dtype, count):
    for seed in range(count):
        rng = Random(f"{cls.__name__}{dtype.value}{seed}")
        case = draw(cls, rng, dtype)
        assert case is not None
        yield case, arrays(case, rng)


def results_of(op, data):
    result = evaluate(op, data)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(("cls", "dtype"), CASES)
def test_sample_infer_and_evaluate_agree(cls, dtype):
    for case, data in draws(cls, dtype, 40):
        kinds = items_of(case.fact.type)
        assert kinds[case.index] == case.output, case
        for array, kind in zip(results_of(case.op, data), kinds, strict=True):
            assert isinstance(array, np.ndarray), case
            assert array.shape == kind.shape, case
            assert DType.of(array.dtype) is kind.dtype, case


@pytest.mark.parametrize(("cls", "dtype"), CASES)
def test_work_counts(cls, dtype):
    for case, _ in draws(cls, dtype, 5):
        work = case.op.work(case.facts, case.fact)
        assert isinstance(work, Work)
        assert is_nonnegative(work.flops)
        assert is_nonnegative(work.nbytes)


@pytest.mark.parametrize(("cls", "dtype"), JUDGED)
def test_agrees_with_onnx(cls, dtype):
    changes = list(opsets(cls)) if dtype is DType.FLOAT32 else [LATEST]
    for opset in changes:
        judged = 0
        for case, data in draws(cls, dtype, 30):
            judged += judge(case, data, opset)
            if judged == 8:
                break
        # Before opset 7 no runtime is bound to know the operator.
        assert judged == 8 or opset < 7, f"opset {opset}: only {judged} draws were judged"


def judge(case, data, opset):
    """Compare with ONNX at one opset; return whether it has such a form and anyone could run it."""
    try:
        model = model_of(case, opset)
    except TensaurError:
        return False
    if not getattr(case.op, "ceil_mode", False):  # there shape inference and runtimes disagree
        try:
            onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
        except onnx.shape_inference.InferenceError as error:
            if "unsupported type" in str(error) or "input size" in str(error):
                return False
            raise AssertionError(f"{case} at opset {opset}") from error
    expected = [runtime(model, feeds(model, data))]
    if not reference_is_wrong(case.op, case.output.rank, opset):
        expected.append(reference(model, feeds(model, data)))
    judgements = [results for results in expected if results is not None]
    for results in judgements:
        for ours, theirs in zip(results_of(case.op, data), results, strict=True):
            check_equal(ours, theirs, f"{case} at opset {opset}")
    return bool(judgements)


def runtime(model, data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except NotImplemented:
        return None
    except InvalidGraph:  # it inserts Cast in a form that old opsets do not have
        assert model.opset_import[0].version < 6
        return None
    return session.run(None, data)


def reference(model, data):
    try:
        return ReferenceEvaluator(model).run(None, data)
    except (TypeError, ValueError, RuntimeError, IndexError):  # forms that it does not know
        return None


def check_equal(ours, theirs, place):
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, place
    assert ours.dtype == theirs.dtype, place
    tolerance = TOLERANCE.get(DType.of(ours.dtype), 0)
    np.testing.assert_allclose(
        ours.astype(np.float64),
        theirs.astype(np.float64),
        rtol=tolerance,
        atol=tolerance,
        err_msg=place,
    )


def test_every_class_is_listed_and_described():
    assert len(ops.OPERATORS) == len(set(ops.OPERATORS)) >= 75
    for cls in ops.OPERATORS:
        assert cls.onnx is not None
        assert cls.__doc__
        names = {item.field for item in cls.onnx.fields}
        assert names == set(cls.field_names()), cls
