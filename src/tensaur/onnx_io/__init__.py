"""ONNX in and out: read a model to a Graph, write a Graph to a model, save it."""

from tensaur.onnx_io.read import read
from tensaur.onnx_io.save import save
from tensaur.onnx_io.source import Source, to_ir
from tensaur.onnx_io.write import expressible, named, writable, write

__all__ = ["Source", "expressible", "named", "read", "save", "to_ir", "writable", "write"]
