"""`python -m benchmarks`: a quick run of every published table."""

from __future__ import annotations

import subprocess
import sys

TABLES = ("latency", "rewrites", "saturation", "extraction", "power", "costs")


def main() -> int:
    """Run every table's script with --quick; 1 if one of them fails."""
    codes = [
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}", "--quick"], check=False)
        for name in TABLES
    ]
    return int(any(code.returncode for code in codes))


if __name__ == "__main__":
    sys.exit(main())
