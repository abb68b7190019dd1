"""The models that benchmarks run on: networks of the papers, built here, and real ones, fetched."""
