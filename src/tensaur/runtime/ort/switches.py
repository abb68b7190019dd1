"""Which of ONNX Runtime's optimisations matter for a model: those without which it runs other kernels.

The runtime ignores names that it does not know, so only a changed graph counts. Few names matter for one
model; they are found by leaving out many at once and halving what made a difference.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tensaur.errors import RuntimeFailure
from tensaur.runtime.ort.dump import optimised_graph
from tensaur.runtime.ort.steps import Steps
from tensaur.runtime.protocol import Model, Settings

# One optimisation, under every name that it goes by: some are applied at two levels.
Switch = tuple[str, ...]

# The graph transformers and rewrite rules of version 1.32, as `disabled_optimizers` takes them.
OPTIMISERS: tuple[Switch, ...] = (
    # What becomes of convolutions: layouts and what joins them.
    ("NchwcTransformer",),
    ("NhwcTransformer",),
    ("ConvActivationFusion",),
    ("ConvAddActivationFusion",),
    ("ConvAddFusion",),
    ("ConvBNFusion",),
    ("ConvMulFusion",),
    ("Pad_Fusion",),
    # Products.
    ("MatMulAddFusion",),
    ("MatMulScaleFusion",),
    ("MatmulTransposeFusion",),
    ("MatMulActivationFusion",),
    ("MatMul_BatchNormalization_Fusion",),
    ("GemmActivationFusion",),
    ("GemmSumFusion",),
    ("GemmTransposeFusion",),
    # Normalisation, activation and attention.
    ("SkipLayerNormFusion",),
    ("BiasSkipLayerNormFusion",),
    ("LayerNormFusionL1", "LayerNormFusionL2"),
    ("SimplifiedLayerNormFusion",),
    ("GeluFusionL1", "GeluFusionL2"),
    ("BiasGeluFusion",),
    ("FastGeluFusion",),
    ("QuickGeluFusion",),
    ("SwiGluFusion",),
    ("BiasSoftmaxFusion",),
    ("AttentionFusion",),
    ("EmbedLayerNormFusion",),
    ("GroupQueryAttentionFusion",),
    ("GroupQueryAttentionPreNormFusion",),
    # Layout.
    ("TransposeOptimizer",),
    ("ReshapeFusion",),
    ("GatherToSliceFusion",),
    ("GatherSliceToSplitFusion",),
    ("SliceConcatToSpaceToDepthFusion",),
    # Quantised models.
    ("QDQSelectorActionTransformer",),
    ("QDQPropagationTransformer",),
    ("QDQFinalCleanupTransformer",),
    ("QDQS8ToU8Transformer",),
    ("Avx2WeightS8ToU8Transformer",),
    ("DynamicQuantizeMatMulFusion",),
    ("MatMulIntegerToFloatFusion",),
    ("ClipQuantRewrite",),
    ("ReluQuantRewrite",),
    ("DoubleQDQPairsRemover",),
    # Simplification.
    ("DivMulFusion",),
    ("FuseReluClip",),
    ("NotWhereFusion",),
    ("LabelEncoderFusion",),
    ("CastChainElimination",),
    ("RemoveDuplicateCastTransformer",),
    ("PreShapeNodeElimination",),
    ("CommonSubexpressionElimination",),
    ("ConstantSharing",),
)


def switches(model: Model, settings: Settings, seconds: float) -> tuple[Switch, ...]:
    """Return the optimisations whose absence changes the kernels, found within about `seconds`."""
    return _Search(model, settings, time.perf_counter() + seconds).run()


@dataclass
class _Search:
    model: Model
    settings: Settings
    until: float
    clock: Callable[[], float] = time.perf_counter
    plain: Counter[object] = field(default_factory=Counter)

    def run(self) -> tuple[Switch, ...]:
        self.plain = self._kernels(())
        return tuple(self._among(OPTIMISERS))

    def _among(self, some: Sequence[Switch]) -> list[Switch]:
        if self.clock() >= self.until or not self._matters(some):
            return []
        if len(some) == 1:
            return list(some)
        half = len(some) // 2
        return self._among(some[:half]) + self._among(some[half:])

    def _matters(self, some: Sequence[Switch]) -> bool:
        try:
            return self._kernels(some) != self.plain
        except RuntimeFailure:  # some models need an optimisation to run at all
            return len(some) > 1

    def _kernels(self, some: Sequence[Switch]) -> Counter[object]:
        names = tuple(name for switch in some for name in switch)
        settings = Settings(
            self.settings.threads, self.settings.optimised, (*self.settings.without, *names)
        )
        steps = Steps.of(optimised_graph(self.model, settings)).steps
        return Counter((item.kind, item.domain, len(item.reads), item.attributes) for item in steps)
