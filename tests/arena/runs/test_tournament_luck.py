"""The luck of a tournament's matches: as it was kept, or from the records again where it was not."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tournaments import tournament


def play(folder: Path) -> dict[str, Any]:
    words = ["risky=greedy", "random", "--game", "risk-duel", "--rounds", "2", "--paired", "--seed", "7"]
    return tournament(folder, *words, "--in-process")


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("luck")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARENA_PLAIN", "1")
        yield folder, play(folder)


def test_a_tournament_with_dice_tells_what_they_gave(first: tuple[Path, dict[str, Any]]) -> None:
    _, content = first
    assert content["value"] is not None
    assert set(content["luck"]) == {match["match"] for match in content["matches"]}
    assert any(content["luck"].values())
    assert all(row["adjusted"] is not None for row in content["table"])


@pytest.mark.parametrize("as_if", ["luck = NULL, luck_by = NULL", "luck = 9, luck_by = 'of-old'"])
def test_luck_that_was_not_kept_or_by_another_value_comes_from_the_records(
    as_if: str, first: tuple[Path, dict[str, Any]]
) -> None:
    folder, content = first
    with closing(sqlite3.connect(folder / "arena.db")) as database, database:
        database.execute(f"UPDATE matches SET {as_if} WHERE place < 3")
    assert play(folder)["luck"] == pytest.approx(content["luck"])
    with closing(sqlite3.connect(folder / "arena.db")) as database:
        kept = dict(database.execute("SELECT id, luck FROM matches WHERE luck_by = ?", [content["value"]]))
    assert kept == pytest.approx(content["luck"])


def test_luck_that_was_kept_of_every_match_stays_though_its_value_is_not_here(
    first: tuple[Path, dict[str, Any]],
) -> None:
    folder, content = first
    with closing(sqlite3.connect(folder / "arena.db")) as database, database:
        database.execute("UPDATE matches SET luck = 0.25, luck_by = 'better-9'")
    again = play(folder)
    assert (again["value"], set(again["luck"].values())) == ("better-9", {0.25})
    assert again["head_to_head"] == content["head_to_head"]
