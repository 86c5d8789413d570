"""docs/records.md keeps its word: its example is a record as it is written, its few lines of Python verify records."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from arena.replay.verify import verify_record
from protocol import VERSION
from referee import record_reader
from referee.effects import Resignation
from referee_table import Table, header

DOC = (Path(__file__).parents[2] / "docs" / "records.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", DOC, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def example() -> Table:
    told = header("nim", {"preset": "classic"}, match="260101-000057-5f0c9a2e", rated=True)
    table = Table(header=msgspec.structs.replace(told, started="2026-01-01T00:00:57.904Z")).begin()
    table.play({"heap": 0, "take": 3}, after=0.41, info={"value": 1.0, "nodes": 12})
    table.play({"heap": 1, "take": 6}, after=0.2)
    table.play({"heap": 1, "take": 5}, after=1.1)
    table.play({"heap": 2, "take": 7}, after=0.3)
    return table


def verified_by_hand(packed: bytes, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the document's program, without this project and without any installed package."""
    (folder / "by_hand.py").write_text(block("python"))
    (folder / "m.jsonl.gz").write_bytes(packed)
    command = [sys.executable, "-I", "-S", "by_hand.py", "m.jsonl.gz"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_example_is_what_this_version_writes_and_it_verifies() -> None:
    shown = block("jsonl").encode()
    verify_record(record_reader.read_record(shown, "the example"))
    assert shown == gzip.decompress(example().packed()).replace(VERSION.encode(), b"0.1.0", 1)


@pytest.mark.parametrize(
    "config",
    [
        {"heaps": [9, 9, 9], "start": "p-position"},
        {"heaps": [8, 12], "take": [1, 3, 4], "misere": True, "start": "p-position"},
        {"preset": "sticks"},
        {"heaps": [1, 1]},
    ],
)
def test_the_few_lines_of_python_verify_any_match_of_nim(config: dict[str, Any], tmp_path: Path) -> None:
    table = Table("nim", config).begin().finish_at_random()
    done = verified_by_hand(table.packed(), tmp_path)
    assert done.stderr == ""
    digest = table.match.result("x").digest
    assert done.stdout == f"m-1: {table.ply} plies, win, digest {digest}\n"


def test_the_few_lines_of_python_verify_the_example_and_a_match_that_was_resigned(tmp_path: Path) -> None:
    assert "3 plies, win" in verified_by_hand(example().packed(), tmp_path).stdout
    table = Table("nim").begin()
    table.play({"heap": 0, "take": 1})
    table.send(Resignation(0))
    assert "1 plies, resigned" in verified_by_hand(table.packed(), tmp_path).stdout


@pytest.mark.parametrize("lie", ["deal", "move", "seed", "digest", "rank", "name", "strike"])
def test_the_few_lines_of_python_find_what_was_changed(lie: str, tmp_path: Path) -> None:
    table = Table("nim", {"heaps": [9, 9, 9], "start": "p-position"}).begin().finish_at_random()
    rows = [json.loads(line) for line in gzip.decompress(table.packed()).splitlines()]
    if lie == "deal":
        rows[1]["event"]["move"]["heaps"][0] += 1
    elif lie == "move":
        rows[2]["event"]["move"]["take"] += 1
    elif lie == "seed":
        rows[-1]["seed"] = "0" * 64
    elif lie == "digest":
        rows[2]["digest"] = "0" * 64
    elif lie == "rank":
        rows[-1]["ranks"].reverse()
    elif lie == "strike":
        rows.insert(2, {"type": "strike", "ply": 1, "seat": 0, "code": "illegal_move", "message": "no"})
    else:
        rows[0]["seats"][0]["bot"] = "eve"
    packed = gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    done = verified_by_hand(packed, tmp_path)
    assert done.returncode == 1
    assert "AssertionError: " in done.stderr
