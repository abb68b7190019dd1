"""`python -m tensaur`: the same as the command `tensaur`."""

import sys

from tensaur.cli import main

if __name__ == "__main__":
    sys.exit(main())
