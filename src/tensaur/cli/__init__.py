"""The command line: arguments in, exit code out; no logic."""

from tensaur.cli.app import main

__all__ = ["main"]
