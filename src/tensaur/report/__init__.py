"""What Tensaur found, as text for people, as JSON for programs, and graphs as DOT.

Formats values that others computed; measures and decides nothing.
"""

from tensaur.report.data import SCHEMA, as_dict, inspection_dict, plain, save_json
from tensaur.report.dot import dot
from tensaur.report.rules import (
    counterexample_lines,
    proof_summary,
    proof_text,
    rule_list,
    rule_text,
    verification_summary,
    verification_text,
)
from tensaur.report.text import inspection_text, result_text, side_by_side_text

__all__ = [
    "SCHEMA",
    "as_dict",
    "counterexample_lines",
    "dot",
    "inspection_dict",
    "inspection_text",
    "plain",
    "proof_summary",
    "proof_text",
    "result_text",
    "rule_list",
    "rule_text",
    "save_json",
    "side_by_side_text",
    "verification_summary",
    "verification_text",
]
