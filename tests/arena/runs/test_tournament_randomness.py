"""What chance in a tournament follows from: its seed, who plays what, the places in the schedule; and nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from arena.store.result_queries import record_of
from arena.store.store import Store
from referee import record_reader
from tournaments import digests, tournament

DEALT = ["--game", "nim", "--set", "heaps=9,9,9,9", "--set", "start=p-position", "--seed", "3"]
DEALT += ["--in-process", "--jobs", "1"]
MINE = """
from bots import Bot, run

class Mine(Bot):
    def choose(self, turn):
        return turn.legal[{which}]

run(Mine("mine"))
"""


def first_states(folder: Path, content: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Of every match its seats, the seed of its dice, the nonces and how it was dealt."""
    with closing(Store.open(folder / "arena.db", create=False)) as store:
        records = [
            record_reader.read_record(store.read(record_of, match["match"]) or b"", "it")
            for match in content["matches"]
        ]
    return [
        ([seat.bot for seat in header.seats], header.config, footer.seed, footer.nonces, next(iter(lines)).event)
        for header, lines, footer in ((record.header, list(record.plies), record.footer) for record in records)
    ]


def version(folder: Path, name: str, which: int) -> str:
    file = folder / f"{name}.py"
    file.write_text(MINE.format(which=which))
    return f"mine={file}"


def test_two_versions_under_one_name_meet_the_same_deals_dice_and_nonces(tmp_path: Path) -> None:
    first = tournament(tmp_path / "first", "random", version(tmp_path, "old", 0), *DEALT, "--rounds", "2")
    second = tournament(
        tmp_path / "second", "random", version(tmp_path, "new", -1), *DEALT, "--rounds", "3", "--clock", "60"
    )
    assert first["tournament"] != second["tournament"]
    assert first_states(tmp_path / "first", first) == first_states(tmp_path / "second", second)[:2]
    assert list(digests(first).values()) != list(digests(second).values())[:2]


@pytest.mark.ci
def test_in_one_folder_they_meet_the_same_starts_under_other_ids(tmp_path: Path) -> None:
    words = [*DEALT, "--paired"]
    first = tournament(tmp_path / "data", "random", version(tmp_path, "old", 0), *words)
    second = tournament(tmp_path / "data", "random", version(tmp_path, "new", -1), *words)
    again = tournament(tmp_path / "data", "random", version(tmp_path, "old", 0), *words)
    assert digests(first) == digests(again)
    assert not digests(first).keys() & digests(second).keys()
    assert [match["config"] for match in first["matches"]] == [match["config"] for match in second["matches"]]


@pytest.mark.ci
def test_another_name_or_seed_is_another_tournament(tmp_path: Path) -> None:
    words = [version(tmp_path, "old", 0), *DEALT]
    one = tournament(tmp_path / "one", "random", *words)
    renamed = tournament(tmp_path / "renamed", "rand=random", *words)
    seeds = {
        state[2]
        for folder, content in (("one", one), ("renamed", renamed))
        for state in first_states(tmp_path / folder, content)
    }
    assert len(seeds) == 2
