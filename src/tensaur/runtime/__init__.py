"""Running models: sessions, inputs, comparing outputs, timing; nothing about costs."""
