"""The e-graph: every equivalent form of a graph in integer columns, and the rules' exploration of it."""
