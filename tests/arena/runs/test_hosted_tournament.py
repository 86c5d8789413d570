"""`arena tournament --hosted`: the versions that were active at a time play in boxes, by the tournament's dice."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from arena.operations.planned_tournaments import restore_terms
from arena.runner.box import Boxes
from arena.runner.tournament_match import play_order
from arena.runner.version_cache import VersionCache
from arena.runs.hosted_players import make_order, make_seats, unpack_report
from arena.runs.sandbox_users import reserved_users
from arena.store.bot_versions import read_content
from arena.store.data_folder import lock
from arena.store.entrants import find_entrants, freeze_entrants, tournaments_of_bot
from arena.store.planned import read_started
from arena.store.store import Store
from arena.store.tournament_state import tournament_randomness
from boxes import boxed
from commands import call
from hosted_bots import DETERMINISTIC_PROGRAM, hand_in, register
from machine.timestamps import utc_now
from tournaments import digests, tournament


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of an arena with two hosted bots."""
    folder = tmp_path / "data"
    folder.mkdir()
    register(folder, "ann", "bob")
    for bot in ("ann", "bob"):
        hand_in(folder, bot, DETERMINISTIC_PROGRAM)
    return folder


@boxed
def test_the_versions_of_a_time_play_the_same_matches_again_after_newer_ones_were_handed_in(
    data: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    shutil.copytree(data, again)
    words = ["--hosted", "--game", "nim", "--seed", "7", "--clock", "300", "--rounds", "2", "--jobs", "1"]
    first = tournament(data, *words)
    until = utc_now()
    hand_in(again, "bob", "raise SystemExit")
    second = tournament(again, *words, "--as-of", until)
    assert [match["reason"] for match in first["matches"]] == ["win", "win"]
    assert digests(first) == digests(second)
    assert first["table"] == second["table"]
    assert [(one["bot"], one["number"]) for one in second["hosted"]["entrants"]] == [("ann", 1), ("bob", 1)]
    with closing(Store.open(data / "arena.db")) as store:
        assert store.read(tournaments_of_bot, "ann") == [first["tournament"]], "its version is kept"
    assert not list(data.glob("tournaments/*/programs")), "programs are removed"
    assert played_on_a_runner(data, first["tournament"], tmp_path) in digests(first).values()


def played_on_a_runner(data: Path, tournament: str, folder: Path) -> str:
    """The digest of the first match of a tournament if a runner plays it in boxes."""
    with closing(Store.open(data / "arena.db")) as store, ExitStack() as held:
        terms, entrants = restore_terms(store.read(read_started, tournament))
        plan = terms.plan(tournament, "7", *store.read(tournament_randomness, tournament))

        async def read(digest: str) -> bytes:
            return store.read(read_content, digest, 0)

        users = held.enter_context(reserved_users(2)) if os.geteuid() == 0 else ()
        boxes = Boxes(memory_mib=256, users=users)
        order = make_order(plan, plan.schedule([])[0], make_seats(plan, entrants))
        playing = play_order(order, VersionCache(folder / "versions", boxes, read), boxes, (0, 1), folder)
        return unpack_report(asyncio.run(playing), order.match).result.digest


@boxed
def test_too_few_hosted_bots_are_one_line_with_the_reasons(data: Path) -> None:
    told = call("arena", "tournament", "--hosted", "--game", "nim", "--as-of", "2026-01-01", "--data", str(data))
    assert told.code == 2
    assert told.err.startswith(
        "arena: a tournament needs two bots or more: 0 hosted bots play nim; ann, version 1, was"
    )
    assert told.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--as-of", "2026-01-01"], "--as-of, --bot, --late and --on-runners are for hosted bots: add --hosted"),
        (["--hosted", "--in-process"], "--hosted is for boxes on this machine: leave out --in-process"),
        (["--hosted", "--as-of", "noon"], "--as-of is 'noon': it is a day, 2026-01-31, or a time, 2026-01-31T12:00Z"),
        (["--hosted", "--bot", "eve"], "eve is no hosted bot, or has no version that passed its check"),
    ],
)
def test_an_option_that_does_not_fit_is_one_line(
    data: Path, words: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.commands.tournament_options.check_bubblewrap", lambda user: None)
    told = call("arena", "tournament", "random", "greedy", "--game", "nim", "--data", str(data), *words)
    assert told == (2, "", f"arena: {said}\n")


def test_beside_a_running_arena_it_is_said_how_to_take_its_programs(data: Path) -> None:
    with lock(data):
        told = call("arena", "tournament", "--hosted", "--game", "nim", "--data", str(data))
    said = f"{data} is in use: if an arena runs there, add --server {data}, and name another folder for the results"
    assert told == (2, "", f"arena: {said} with --data\n")


def test_a_folder_without_an_arena_has_no_hosted_bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.commands.tournament_options.check_bubblewrap", lambda user: None)
    told = call("arena", "tournament", "--hosted", "--game", "nim", "--data", str(tmp_path))
    assert told.code == 2
    assert "--hosted takes the programs from the database of an arena, which --data or --db names" in told.err


def test_the_deletion_of_a_bot_says_which_tournaments_can_not_be_repeated(data: Path) -> None:
    with closing(Store.open(data / "arena.db")) as store:
        for tournament in ("t1", "t2"):
            store.write(freeze_entrants, tournament, store.read(find_entrants, "nim").entrants)
    deleted = call("arena", "bot", "delete", "ann", "--data", str(data))
    assert "its programs are gone, so these tournaments can't be repeated: t1, t2\n" in deleted.out
