"""The options that choose matches, and `latest`: what they find, and what is said of mistakes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from arena.store.export_rows import LADDER_COLUMNS, MATCH_COLUMNS
from arena.store.match_search import parse_time_bound
from arena.store.result_queries import iter_results
from arena.store.store import Store
from arena.store.tournament_state import open_tournament
from commands import Done, call
from databases import filled_store
from protocol.digest import encode_canonical
from seasons import finish, result
from stored_matches import stored

Arena = Callable[..., Done]


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    """Run `arena` on four matches of which no two are alike."""
    filled_store(tmp_path / "arena.db", finish_four).close()
    return partial(call, "arena", ARENA_DB=str(tmp_path / "arena.db"))


def finish_four(store: Store) -> None:
    form = {"format": "round-robin", "rounds": 1, "paired": False}
    arguments = {"bots": ["ann", "cid"], "game": "nim", "config": {"preset": "classic"}, **form}
    tournament, _ = store.write(open_tournament, encode_canonical(arguments).decode(), "1")
    finish(
        store,
        result("won", reasons=("win", "timeout"), reason="timeout", finished="2026-01-01T23:59:59.000Z"),
        result("lost", ("bob", "ann"), version="=1\x1b", finished="2026-01-02T12:00:00.000Z"),
        result("drawn", ranks=(1, 1), pool="tictactoe/classic", reason="draw", finished="2026-01-03T00:00:00.000Z"),
        result("other", ("ann", "cid"), tournament=tournament, place=0, finished="2026-01-04T00:00:00.000Z"),
    )


def listed(done: Done) -> list[dict[str, str]]:
    assert done.code == 0, done.err
    return list(csv.DictReader(io.StringIO(done.out)))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["other", "drawn", "lost", "won"]),
        (("--limit", "2"), ["other", "drawn"]),
        (("--bot", "ANN", "--won"), ["other", "won"]),
        (("--bot", "ann", "--lost"), ["lost"]),
        (("--bot", "ann", "--drawn"), ["drawn"]),
        (("--bot", "ann", "--opponent", "cid"), ["other"]),
        (("--bot", "ann", "--opponent", "bob", "--won"), ["won"]),
        (("--game", "tictactoe"), ["drawn"]),
        (("--reason", "timeout"), ["won"]),
        (("--bot", "bob", "--reason", "timeout"), ["won"]),
        (("--bot", "ann", "--reason", "timeout"), []),
        (("--since", "2026-01-02"), ["other", "drawn", "lost"]),
        (("--until", "2026-01-02"), ["lost", "won"]),
        (("--since", "2026-01-02T13:00+01:00", "--until", "2026-01-03"), ["drawn", "lost"]),
    ],
)
def test_matches_are_those_that_meet_all_that_is_said(arena: Arena, words: tuple[str, ...], found: list[str]) -> None:
    assert [row["match"] for row in listed(arena("matches", "--csv", *words))] == found
    lines = arena("matches", *words).out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == found if found else lines == ["no match fits"]


def test_pages_of_the_store_follow_each_other_up_to_the_limit(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.commands.matches.MAX_PAGE_ROWS", 2)
    for words, found in (((), ["other", "drawn", "lost", "won"]), (("--limit", "3"), ["other", "drawn", "lost"])):
        assert [one["match"] for one in json.loads(arena("matches", "--json", *words).out)] == found


def test_a_tournament_is_chosen_by_its_id(arena: Arena) -> None:
    tournament = listed(arena("matches", "--csv"))[0]["tournament"]
    assert [row["match"] for row in listed(arena("matches", "--csv", "--tournament", tournament))] == ["other"]
    assert arena("matches", "--tournament", "t0") == (
        *(2, ""),
        f"arena: there is no tournament 't0': the latest are {tournament}\n",
    )


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ("2026-01-31", "2026-02-01"),
        ("20260131", "2026-02-01"),
        ("20260131T12", "2026-01-31T12:00:00.000Z"),
        ("2026-01-31T12:00+02:00", "2026-01-31T10:00:00.000Z"),
    ],
)
def test_a_day_ends_with_its_last_hour_however_it_is_written(said: str, bound: str) -> None:
    assert parse_time_bound(said, "--until", days=1) == bound


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--lost",), "--lost goes with --bot: who lost?"),
        (("--drawn",), "--drawn goes with --bot: who drew?"),
        (("--bot", "ann", "--won", "--lost"), "--won and --lost: no match is both"),
        (("--opponent", "bob"), "--opponent 'bob' needs --bot, the bot whose opponent it is"),
        (("--bot", "zoe"), "there is no bot called zoe: `arena bot list` names them"),
        (("--bot", "ann", "--opponent", "zoe"), "there is no bot called zoe: `arena bot list` names them"),
        (("--since", "monday"), "--since is 'monday': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
        (("--until", "2026-02-30"), "--until is '2026-02-30': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
        (("--since", "2026-01-03", "--until", "2026-01-02"), "--until 2026-01-02 is before --since 2026-01-03"),
        (
            ("--reason", "late"),
            "--reason is 'late': it is one of win, draw, ply_limit, round_limit, resigned, timeout, illegal, "
            "disconnected, no_show, failed, void",
        ),
    ],
)
def test_what_means_nothing_is_said_with_what_would(arena: Arena, words: tuple[str, ...], told: str) -> None:
    assert arena("matches", *words) == (2, "", f"arena: {told}\n")
    assert arena("export", "--to", "out", *words) == (2, "", f"arena: {told}\n")


def test_csv_has_stable_columns_and_nothing_that_a_terminal_obeys(arena: Arena) -> None:
    assert list(listed(arena("matches", "--csv"))[0]) == list(MATCH_COLUMNS)
    rows = listed(arena("leaderboard", "--csv"))
    assert list(rows[0]) == list(LADDER_COLUMNS)
    assert [(row["pool"], row["place"]) for row in rows[:2]] == [("nim/classic", "1"), ("nim/classic", "2")]
    assert {row["version"] for row in rows if row["bot"] == "bob"} == {"'=1\\x1b", "1"}
    for command in ("matches", "leaderboard"):
        assert arena(command, "--csv", "--json") == (2, "", "arena: --json and --csv: choose one of them\n")


def test_latest_names_the_newest_match_wherever_one_is_named(tmp_path: Path) -> None:
    with closing(stored(tmp_path / "arena.db")) as store:
        newest = next(iter(store.iterate(iter_results, limit=1))).match
    arena = partial(call, "arena", ARENA_DB=str(tmp_path / "arena.db"), ARENA_DATA=str(tmp_path))
    assert arena("replay", "verify", "latest").out.startswith(f"{newest}: verified")
    assert arena("replay", "show", "latest").out.startswith(f"{newest}: risk-duel")
    assert arena("replay", "grade", "latest").code == 0
    assert arena("replay", "export", "latest", "--to", str(tmp_path / "one.jsonl")).code == 0
    assert newest in (tmp_path / "one.jsonl").read_text()
    assert arena("match", "annul", "latest").err == f"arena: not rated, so there is nothing to annul: {newest}\n"


def test_latest_of_no_match_is_said(tmp_path: Path) -> None:
    Store.open(tmp_path / "arena.db").close()
    done = call("arena", "replay", "show", "latest", ARENA_DB=str(tmp_path / "arena.db"))
    assert done == (2, "", f"arena: there is no match in {tmp_path / 'arena.db'} yet\n")
