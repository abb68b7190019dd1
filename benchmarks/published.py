"""What TenSat's paper says of exploring: seconds by network, k_multi and cycle filter.

From Yang et al., Equality Saturation for Tensor Graph Superoptimization, MLSys 2021 (arXiv 2101.01332).
Its engine is written in Rust and ran on a cloud machine with 16 cores, with at most 50,000 e-nodes and 15
iterations, so these seconds stand beside ours for orientation: they compare machines and limits as much
as engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SETTING = (
    "TenSat's seconds are its paper's: Rust, a cloud machine with 16 cores, at most 50,000 e-nodes. "
    "Hardware and limits differ, so they are no measure of either engine."
)
FURTHER = "The paper's Table 3 has 8.81 s for NasNet-A and 4.38 s for Inception-v3."
EXTRACTION = (
    "TenSat's paper has for programs with real / integer order variables / without cycle constraints, in "
    "seconds (SCIP, measured costs): BERT 0.96 / 0.98 / 0.16 at k_multi 1 and > 3600 / > 3600 / 510.3 at 2; "
    "NasRNN 1116 / 1137 / 0.32 and > 3600 / > 3600 / 356.7; NasNet-A 424 / 438 / 1.81 and > 3600 / > 3600 / "
    "75.1."
)


@dataclass(frozen=True, slots=True)
class Published:
    """Seconds of exploring with either cycle filter; as text, because some only exceed a limit."""

    vanilla: str
    efficient: str


# `nasrnn-unshared` is the papers' program to the letter.
SECONDS: Mapping[str, Mapping[int, Published]] = {
    "bert-tensat": {1: Published("0.18", "0.17"), 2: Published("32.9", "0.89")},
    "nasrnn-unshared": {1: Published("1.30", "0.08"), 2: Published("2932", "1.47")},
    "nasnet-a": {1: Published("3.76", "1.27"), 2: Published("> 3600", "8.62")},
}


def seconds(network: str, multi: int, cycle_filter: str) -> str:
    """Return the published seconds, nothing if there are none."""
    found = SECONDS.get(network, {}).get(multi)
    return "" if found is None else str(getattr(found, cycle_filter))
