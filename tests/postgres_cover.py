"""Choose the tests that run on PostgreSQL where CI is not set, so that every statement is still run.

Most tests of the store run on both kinds of database. Those that postgres_cover.txt lists, with those that only run on
PostgreSQL, run every statement that any of them runs. scripts/postgres-cover runs all of them and writes the list; with
`check` it says which statements the list no longer covers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from databases import COVER_FILE, read_cover
from postgres_statements import StatementLog

TEST_EXECUTIONS = 100
"""What a test costs beside its statements: a database and its connections cost as much as this many statements."""
_HEADER = """# The tests that run on PostgreSQL also where CI is not set: with those that only run on PostgreSQL,
# they run every statement that any test runs. scripts/postgres-cover writes this file.
"""


def read_logs(folder: Path) -> list[StatementLog]:
    """Return the logs that the plugin postgres_statements has written to a folder."""
    decoder = msgspec.json.Decoder(StatementLog)
    lines = (line for file in sorted(folder.glob("*.jsonl")) for line in file.read_bytes().splitlines())
    return sorted(map(decoder.decode, lines), key=lambda log: log.test)


def covered(logs: Iterable[StatementLog]) -> set[str]:
    """Return the statements that some tests run."""
    return {statement for log in logs for statement in log.statements}


def choose_cover(logs: Sequence[StatementLog]) -> list[str]:
    """Return names of tests that run every statement, each of which runs the most new ones for what it costs."""
    left = covered(logs) - covered(log for log in logs if not log.is_repetition)
    candidates = [log for log in logs if log.is_repetition]
    chosen = []
    while left:
        best = max(
            candidates, key=lambda log: len(left.intersection(log.statements)) / (TEST_EXECUTIONS + log.executions)
        )
        chosen.append(best.test)
        left.difference_update(best.statements)
    return sorted(chosen)


def find_faults(logs: Sequence[StatementLog], cover: Iterable[str]) -> list[str]:
    """Return what is wrong with a cover, a line each."""
    names = frozenset(cover)
    known = {log.test for log in logs}
    left = covered(logs) - covered(log for log in logs if not log.is_repetition or log.test in names)
    unknown = [f"{name} is not a test that runs on PostgreSQL" for name in sorted(names - known)]
    uncovered = [f"no listed test runs: {' '.join(statement.split())}" for statement in sorted(left)]
    return unknown + uncovered


def main(action: str, folder: str) -> int:
    """Write the list, or check it."""
    logs = read_logs(Path(folder))
    if not logs:
        print(f"postgres-cover: no test has written its statements to {folder}", file=sys.stderr)
        return 1
    if action == "write":
        cover = choose_cover(logs)
        COVER_FILE.write_text(_HEADER + "".join(f"{name}\n" for name in cover))
        print(f"{len(cover)} of {sum(log.is_repetition for log in logs)} tests: {len(covered(logs))} statements")
        return 0
    faults = find_faults(logs, read_cover())
    for line in faults:
        print(f"tests/{COVER_FILE.name}: {line}", file=sys.stderr)
    if faults:
        print("postgres-cover: to write the list anew: scripts/postgres-cover", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
