"""Tensaur: ONNX in, an equivalent and faster ONNX out, measured and checked.

Holds the public names and nothing else.
"""

from tensaur.api import optimize
from tensaur.comparison import SideBySide, compare
from tensaur.errors import TensaurError
from tensaur.ir.rule import Rule
from tensaur.options import Options
from tensaur.result import Result

__version__ = "0.1.0"

__all__ = [
    "Options",
    "Result",
    "Rule",
    "SideBySide",
    "TensaurError",
    "__version__",
    "compare",
    "optimize",
]
