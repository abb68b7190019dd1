"""The words everything else is written in: types, operators, terms, rules, graphs, and their text."""
