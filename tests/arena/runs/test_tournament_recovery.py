"""What a tournament has played it keeps, also before the turn of a match to be rated has come."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from arena.store.result_queries import tournament_results
from arena.store.store import Store
from arena.store.tournament_state import pending_of_tournament
from commands import call, faulty, passing, run, started
from timeouts import found_in
from tournaments import digests, ratings, tournament_of_processes

WORDS = ["random", "perfect", faulty("pausingonce"), "--game", "nim", "--rounds", "4", "--seed", "3", "--clock", "9999"]


def kept(folder: Path, tournament: str) -> tuple[dict[str, str], dict[str, str]]:
    """When the matches of a tournament ended that are rated, and those that wait for it."""
    with closing(Store.open(folder / "arena.db")) as store:
        rated, pending_matches = (
            store.read(tournament_results, tournament),
            [one.closed.result for one in store.read(pending_of_tournament, tournament)],
        )
    return {one.match: one.finished for one in rated}, {one.match: one.finished for one in pending_matches}


@pytest.mark.nightly
def test_matches_that_were_over_before_their_turn_outlive_a_kill_and_are_rated_in_it(tmp_path: Path) -> None:
    memory, whole, cut = tmp_path / "memory", tmp_path / "whole", tmp_path / "cut"
    memory.touch()
    words = [*WORDS, "--jobs", "2", *passing(["ARENA_MEMORY"])]
    undisturbed = tournament_of_processes(whole, *words, ARENA_MEMORY=str(memory))
    memory.unlink()
    name = undisturbed["tournament"]
    kept(cut, name)  # which makes the database
    with started("arena", "tournament", *words, "--data", str(cut), ARENA_MEMORY=str(memory)) as process:
        rated, pending_matches = found_in(cut, lambda: found if sum(map(len, found := kept(cut, name))) == 11 else None)
        process.kill()
    assert len(pending_matches) >= 8
    file = tmp_path / "again.json"
    done = run("arena", "tournament", *words, "--data", str(cut), "--json", str(file), ARENA_MEMORY=str(memory))
    assert done.stderr.splitlines()[0] == "arena: 11 of 12 matches were played before"
    again = json.loads(file.read_text())
    assert digests(again) == digests(undisturbed)
    assert ratings(cut) == ratings(whole)
    ended = {match["match"]: match["finished"] for match in again["matches"]}
    assert {match: ended[match] for match in rated | pending_matches} == rated | pending_matches
    assert kept(cut, name)[1] == {}
    assert call("arena", "db", "check", "--data", str(cut)).code == 0
