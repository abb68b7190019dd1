"""Running models under ONNX Runtime: sessions, inputs, comparing outputs, timing; nothing about costs."""
