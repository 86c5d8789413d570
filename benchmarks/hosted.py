"""Measure hosted bots: what a match costs, how soon bots start, and whether anything is lost while runners fail.

    python benchmarks/hosted.py overhead [OPTIONS]
    python benchmarks/hosted.py starts [OPTIONS]
    python benchmarks/hosted.py hour [OPTIONS]
    python benchmarks/hosted.py [--small]

The first three run a program of the folder `hosting` with its options, which `--help` lists. Without one of these
words, all run. Exit status 1 if one of them fails.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PARTS = ("overhead", "starts", "hour")
"""The names of the programs in the folder `hosting`, without the ending."""


def main() -> None:
    words = sys.argv[1:]
    if words[:1] and words[0] in PARTS:
        parts, options = words[:1], words[1:]
    elif words in ([], ["--small"]):
        parts, options = [*PARTS], words
    else:
        raise SystemExit(__doc__)
    failed = False
    for part in parts:
        if len(parts) > 1:
            print(f"== {part}", flush=True)
        file = Path(__file__).parent / "hosting" / f"{part}.py"
        failed |= subprocess.run([sys.executable, str(file), *options], check=False).returncode != 0
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
