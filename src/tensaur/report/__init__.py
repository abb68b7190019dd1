"""What Tensaur found, as text for people, as JSON for programs, and graphs as DOT.

Formats values that others computed; measures and decides nothing.
"""

from tensaur.report.data import SCHEMA, as_dict, inspection_dict, plain, save_json
from tensaur.report.dot import dot
from tensaur.report.text import inspection_text, result_text, rule_list, side_by_side_text

__all__ = [
    "SCHEMA",
    "as_dict",
    "dot",
    "inspection_dict",
    "inspection_text",
    "plain",
    "result_text",
    "rule_list",
    "save_json",
    "side_by_side_text",
]
