"""Numbers without rounding, as elements of NumPy object arrays: residues, rationals, 50-digit reals.

The operators' own `evaluate` computes with them, since NumPy's functions on object arrays call the
elements' methods. What a kind of number cannot do exactly, it refuses. Knows no operator and no rule.
"""
