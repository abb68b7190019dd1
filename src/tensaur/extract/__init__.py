"""Extraction: from an explored e-graph to the cheapest graph in it."""
