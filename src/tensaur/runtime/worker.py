"""The fresh process that confirms a timing: reads a job from standard input, prints a timing as JSON.

Run by `verdict` as ``python -m tensaur.runtime.worker``; not meant to be called by hand.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

from tensaur.errors import TensaurError
from tensaur.runtime.protocol import InFolder
from tensaur.runtime.timing import Limits, race
from tensaur.runtime.verdict import Timing, timing_to_json


def run_job(job: dict[str, Any]) -> Timing:
    """Race the job's two models and summarise."""
    # The parent wrote this file into a directory that only its user may enter.
    feeds = pickle.loads(Path(job["feeds"]).read_bytes())
    models = [
        InFolder(path, Path(folder)) if folder else path
        for path, folder in zip(job["models"], job["folders"], strict=True)
    ]
    limits = Limits(seconds=job["seconds"], replicates=job["replicates"])
    result = race(models, feeds, threads=job["threads"], limits=limits, seed=job["seed"])
    return Timing.of(result)


def main() -> int:
    """Answer one job; the last line of standard error says what went wrong."""
    try:
        print(timing_to_json(run_job(json.load(sys.stdin))))
    except TensaurError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
