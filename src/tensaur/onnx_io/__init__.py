"""ONNX in and out: read a model to a Graph, write a Graph to a model, save it."""

from tensaur.onnx_io.read import read
from tensaur.onnx_io.save import save
from tensaur.onnx_io.source import Source, to_ir
from tensaur.onnx_io.write import expressible, writable, write

__all__ = ["Source", "expressible", "read", "save", "to_ir", "writable", "write"]
