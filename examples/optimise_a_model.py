"""Optimise a model from Python and look at what happened.

Run: python examples/optimise_a_model.py [model.onnx]. Without a model the demo network is used.
"""

import sys

import tensaur
from tensaur import demo


def main(path: str | None = None, seconds: float = 30.0) -> tensaur.Result:
    """Optimise a model and print the outcome."""
    result = tensaur.optimize(path or demo.model(), seconds=seconds, progress=print)
    print("kept the original" if result.kept_original else f"{result.speedup:.2f}x faster")
    print("because:", result.reason)
    print("estimated cost:", result.cost_before, "->", result.cost_after, result.cost_unit)
    for rewrite in result.rewrites:
        print(f"  {rewrite.rule} at {rewrite.count} places")
    return result


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None).save("optimised.onnx")
