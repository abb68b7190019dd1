"""Tensaur: ONNX in, an equivalent and faster ONNX out, measured and checked.

Holds the public names and nothing else.
"""

__version__ = "0.1.0"
