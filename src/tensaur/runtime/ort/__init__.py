"""ONNX Runtime on the CPU, the first implementation of `tensaur.runtime.protocol`."""
