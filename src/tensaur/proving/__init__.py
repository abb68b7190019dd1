"""Formal proof of rules from axioms: the axioms as data, and what proves with them."""
