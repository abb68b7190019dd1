"""Benchmarks: networks, real models, and one script for every table that Tensaur publishes."""
