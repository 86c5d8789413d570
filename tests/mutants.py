"""Mutation testing: how many small faults put into a module do its tests find? `scripts/mutants` runs it.

tests/mutants.toml says which tests concern which module, and which mutants change nothing that a test could see. What a
test file computes while it is imported is computed before the fault is put in: it finds none.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mutmut.stats import status_by_exit_code

from machine.source_digest import PACKAGES

ROOT = Path(__file__).parent.parent
PLAN = ROOT / "tests" / "mutants.toml"
FOUND = ("killed", "timeout")
"""A mutant that never ends is found as well as one that fails."""
STRICT = re.compile(r", (strict=\w+)?\)")
SETTINGS = """
[tool.mutmut]
source_paths = {packages}
only_mutate = [{module}]
also_copy = ["docs", "README.md"]
pytest_add_cli_args = ["--hypothesis-profile=mutants", "-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = {tests}
timeout_multiplier = 2.0
timeout_constant = 2.0
use_git_change_detection = false
"""


class Outcome(NamedTuple):
    """What became of a module's mutants: how many were tried, found and found by their time, and the others."""

    tried: int
    found: int
    slow: int
    equivalent: int
    survivors: list[str]

    @property
    def share(self) -> float:
        return self.found / max(1, self.tried - self.equivalent)


def main() -> None:
    plan = tomllib.loads(PLAN.read_text())
    parser = argparse.ArgumentParser(prog="scripts/mutants", description="Mutation testing, in a copy of the tree.")
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help=f"of {PLAN.relative_to(ROOT)}; all when none is named"
    )
    parser.add_argument("--workers", type=int, default=2, help="mutants tried at a time (2)")
    parser.add_argument("--tenth", action="store_true", help="try one mutant in ten: those whose number ends in 7")
    options = parser.parse_args()
    for module in options.modules:
        if module not in plan:
            parser.error(f"no tests are named for {module} in {PLAN.relative_to(ROOT)}")
    for module in options.modules or plan:
        print(f"{module} ...", file=sys.stderr)
        outcome = tried(module, plan[module], options.workers, ["*7"] if options.tenth else [])
        for survivor in outcome.survivors:
            print(survivor)
        print(
            f"{module}: {outcome.share:.0%} ({outcome.found} of {outcome.tried}, {outcome.slow} by time; "
            f"{outcome.equivalent} equivalent, {len(outcome.survivors)} survive)",
            flush=True,
        )


def tried(module: str, plan: dict[str, Any], workers: int, only: Sequence[str]) -> Outcome:
    """Try the mutants of one module, in a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder)
        copy_tree(copy)
        with (copy / "pyproject.toml").open("a") as project:
            project.write(
                SETTINGS.format(
                    packages=json.dumps(PACKAGES), module=json.dumps(module), tests=json.dumps(plan["tests"])
                )
            )
        run = subprocess.run(
            [mutmut(), "run", f"--max-children={workers}", *only], cwd=copy, capture_output=True, text=True, check=False
        )
        if run.returncode:
            sys.exit(run.stdout[-3000:] + run.stderr[-3000:])
        codes = json.loads((copy / "mutants" / f"{module}.meta").read_text())["exit_code_by_key"]
        states = {name: status_by_exit_code[code] for name, code in codes.items() if code is not None}
        left = {name: difference(copy, name) for name, state in states.items() if state not in FOUND}
    counts = Counter(states.values())
    known = {" ".join(line.split()) for line in plan.get("equivalent", [])}
    survivors = [
        f"{name} ({states[name]})\n{lines}"
        for name, lines in left.items()
        if not changed(lines, "+") & known and not of_zip_alone(lines)
    ]
    return Outcome(
        tried=len(states),
        found=sum(counts[state] for state in FOUND),
        slow=counts["timeout"],
        equivalent=len(left) - len(survivors),
        survivors=survivors,
    )


def copy_tree(to: Path) -> None:
    """What git knows of the tree, and new files it is not told to ignore, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def difference(copy: Path, name: str) -> str:
    """The lines that a mutant takes out and puts in."""
    shown = subprocess.run([mutmut(), "show", name], cwd=copy, capture_output=True, text=True, check=True)
    return "\n".join(line for line in shown.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def changed(difference: str, sign: str) -> set[str]:
    """The lines that a mutant takes out (-) or puts in (+), without indentation."""
    return {" ".join(line[1:].split()) for line in difference.splitlines() if line.startswith(sign)}


def of_zip_alone(difference: str) -> bool:
    """Whether only the `strict` of a zip differs: it states what is so anyway."""
    old, new = ({STRICT.sub(")", line) for line in changed(difference, sign)} for sign in "-+")
    return old == new


def mutmut() -> str:
    return os.path.join(os.path.dirname(sys.executable), "mutmut")


if __name__ == "__main__":
    main()
