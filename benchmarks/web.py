"""Measure the web pages: response times with a million matches, how much they slow down players, and their size.

This program runs pages/answers.py, pages/watching.py and pages/paint.py, each with its own data. To use their options,
run them directly.
Usage: python benchmarks/web.py [--small]
Exit status 1 if one of them fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAMS = ("answers", "watching", "paint")
"""The names of the programs to run, without the folder `pages` and the ending."""


def main() -> None:
    if sys.argv[1:] not in ([], ["--small"]):
        raise SystemExit(__doc__)
    failed = False
    for program in PROGRAMS:
        print(f"== {program}", flush=True)
        file = Path(__file__).parent / "pages" / f"{program}.py"
        failed |= subprocess.run([sys.executable, str(file), *sys.argv[1:]], check=False).returncode != 0
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
