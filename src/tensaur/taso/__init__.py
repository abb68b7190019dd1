"""Rules of TASO read from its protobuf files, stated as ours, proved or refuted, and written as a Python file."""

from tensaur.taso.judging import SECONDS, Answer, Judged, Outcome, judge
from tensaur.taso.listing import table_text
from tensaur.taso.wire import read_rules
from tensaur.taso.writing import file_text

__all__ = [
    "SECONDS",
    "Answer",
    "Judged",
    "Outcome",
    "file_text",
    "judge",
    "read_rules",
    "table_text",
]
