"""Stands in for an optimiser: `python -m tests.benchmarks.fake_tool HOW OUTPUT`."""

import os
import signal
import sys
import time
from pathlib import Path

HOW, OUTPUT = sys.argv[1:]
if HOW == "writes":
    Path(OUTPUT).write_bytes(b"model")
elif HOW == "crashes":
    os.kill(os.getpid(), signal.SIGSEGV)
elif HOW == "fails":
    sys.exit("no good")
elif HOW == "hangs":
    time.sleep(60)
