"""`arena replay rerun`: a stored match, or all of a bot, played again with a new bot in its seat."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rerun_bots
import tournaments
from arena.rerun.lineup import BotResolver
from arena.store.finish import finish_matches, prepare_match
from arena.store.store import Store
from arena.store.tournament_state import OriginArguments, TournamentOrigin
from bots import play
from commands import Done, call

FILE = Path(rerun_bots.__file__)
FIRST, LAST = f"{FILE}:First", f"{FILE}:Last"
ANN = ("--opponent", f"ann={FIRST}")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three matches of nim in which both make the first moves, and who begins wins: ann, greedy, ann."""
    pair = [f"ann={FIRST}", f"greedy={FIRST}"]
    for seed in range(3):
        store_match(tmp_path, pair if seed % 2 == 0 else pair[::-1], "nim", seed=seed, config={"heaps": [1, 2]})
    return tmp_path


def store_match(
    folder: Path, bots: list[str], game: str, *, seed: int = 1, config: dict[str, Any] | None = None
) -> str:
    played = play(bots, game, seed=seed, config=config)
    with closing(Store.open(folder / "arena.db")) as store:
        store.write(finish_matches, [prepare_match(played.closed)])
    return played.result.match


def rerun(data: Path, *words: str, continuations: int | None = 4) -> Done:
    many = () if continuations is None else ("--continuations", str(continuations))
    return call("arena", "replay", "rerun", *words, *many, "--data", str(data), "--seed", "1")


def refused(data: Path, *words: str) -> str:
    done = rerun(data, *words)
    assert (done.code, done.out, done.err[:7], done.err.count("\n")) == (2, "", "arena: ", 1)
    return done.err[7:-1]


def test_the_loser_s_seat_is_taken_and_it_is_said_what_was_measured_and_who_played_on(data: Path) -> None:
    done = rerun(data, "latest", "--bot", LAST, *ANN, "--old", FIRST, continuations=10)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0].partition(": ")[2] == f"nim, seat 1: {LAST} in place of greedy, which lost"
    assert done.out.splitlines()[1:] == [
        "another one at once, at ply 1:",
        "          move           points",
        "recorded  1 from heap 1   0.000",
        "new       2 from heap 1   1.000",
        "worth +1.000 (+0.741 to +1.259) points, by 10 continuations each with the same dice",
        f"seat 0, ann: {FIRST}",
        f"seat 1, greedy as it was: {FIRST}",
        "each played on after its own move: that is what the new bot in its place was worth",
    ]


def test_a_program_that_is_not_named_is_the_reference_bot_of_its_name_or_a_stand_in(data: Path) -> None:
    out = rerun(data, "latest", "--bot", LAST).out.splitlines()
    assert out[-3:-1] == [
        "seat 0, ann: alphabeta:depth=3, as a stand-in",
        "seat 1, greedy as it was: the reference bot greedy, by its name",
    ]
    out = rerun(data, "latest", "--bot", LAST, "--seat", "ann", "--stand-in", "random").out.splitlines()
    alone = "the new bot played both on, as the program of ann is not known (--old BOT names it): "
    assert out[-2:] == [
        "seat 1, greedy: the reference bot greedy, by its name",
        f"{alone}that is what the move alone was worth",
    ]


def test_a_program_that_does_not_make_the_recorded_moves_is_told(data: Path) -> None:
    out = rerun(data, "latest", "--bot", LAST, "--opponent", f"ann={LAST}").out.splitlines()
    strays = "moves differently in the record, at ply 0: it plays at random or by the clock, or it is another program"
    assert out[-1] == f"ann {strays}"


def test_the_very_same_bot_is_worth_nothing_more(data: Path) -> None:
    out = rerun(data, "latest", "--bot", FIRST, *ANN).out.splitlines()
    assert out[1:] == ["every move the same, 1 move: the difference is 0"]
    out = rerun(data, "--all", "greedy", "--bot", FIRST, *ANN).out.splitlines()
    assert out[:2] == [
        f"nim, {FIRST} in place of greedy: 3 matches, 3 of them the same to the end",
        "the difference is 0",
    ]


def test_all_matches_of_a_bot_are_summed_and_told_apart_by_kind_of_position(data: Path) -> None:
    done = rerun(data, "--all", "greedy", "--bot", LAST, *ANN, "--old", FIRST, "--json", str(data / "all.json"))
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:9] == [
        f"nim, {LAST} in place of greedy: 3 matches, 0 of them the same to the end",
        "worth +1.000 (+0.351 to +1.649) points in all, by 4 continuations each with the same dice",
        "each by its own 95 % interval: better in 2, worse in 1",
        "a match +0.333 (-2.535 to +3.202), as a sample of such matches",
        "",
        "by            kind of position  matches  better  worse   worth              95 %",
        "theory        won                     3       2      1  +1.000  +0.351 to +1.649",
        "heaps         1 to 2                  3       2      1  +1.000  +0.351 to +1.649",
        "largest heap  up to 3                 3       2      1  +1.000  +0.351 to +1.649",
    ]
    told = json.loads((data / "all.json").read_text())
    assert [each["match"]["worth"]["mean"] for each in told["matches"]] == [1.0, -1.0, 1.0]
    assert told["matches"][0]["played_on_by"] == {"old": FIRST, "seat 0": FIRST}
    assert told["totals"][0]["worth"]["mean"] == 1.0
    lost = rerun(data, "--all", "greedy", "--lost", "--bot", LAST, *ANN, "--old", FIRST).out.splitlines()
    assert lost[0].endswith("2 matches, 0 of them the same to the end")
    assert lost[3].startswith("these matches were chosen by how they ended: ")


def test_who_stops_it_is_told_what_was_found_so_far(data: Path) -> None:
    done = rerun(data, "--all", "greedy", "--bot", f"{FILE}:Interrupted", *ANN, "--old", FIRST)
    assert (done.code, done.err.splitlines()[0]) == (130, "arena: stopped after 1 of 3 matches")
    assert "each by its own 95 % interval: better in 1, worse in 0" in done.out.splitlines()


def test_who_stops_a_match_is_told_what_was_found_so_far_and_has_it_in_the_file(data: Path) -> None:
    file = data / "one.json"
    late = ("--opponent", f"ann={FILE}:InterruptedLate")
    words = ("latest", "--bot", LAST, *late, "--old", FIRST, "--json", str(file))
    done = rerun(data, *words, continuations=30)
    assert (done.code, done.err.splitlines()[0]) == (130, "arena: stopped after 10 of 30 continuations")
    assert "worth +1.000 (+0.741 to +1.259) points, by 10 continuations each with the same dice" in done.out
    assert json.loads(file.read_text())["match"]["continuations"] == 10


def test_a_class_of_a_file_is_named_as_a_file_is(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FILE.parent)
    words = ("--bot", f"{FILE.name}:Last", "--old", f"{FILE.name}:First", "--opponent", f"ann={FILE.name}:First")
    done = rerun(data, "latest", *words)
    assert (done.code, done.err) == (0, "")
    assert f": nim, seat 1: {FILE.name}:Last in place of greedy" in done.out


def test_what_goes_wrong_with_the_new_bot_is_told_by_its_own_name_and_once(data: Path) -> None:
    failing = f"{FILE}:Fails"
    done = rerun(data, "latest", "--bot", failing, *ANN)
    assert done.err.startswith(f"{failing} as greedy: its code failed at ply 1 of play-")
    assert done.out.splitlines()[-1] == f"{failing} forfeited 4 games of 4 continuations each: standard error says why"
    done = rerun(data, "latest", "--seat", "ann", "--bot", failing, "--opponent", f"greedy={FIRST}", continuations=None)
    assert done.out.splitlines()[-1].startswith(f"{failing} forfeited 200 games of 100 continuations each: ")
    assert done.err.count("its code failed") == 2  # in the match, and from there on
    assert refused(data, "latest", "--bot", "alphabeta:no=3").startswith("alphabeta:no=3 as greedy has no setting 'no'")


def test_a_level_of_the_house_is_known_by_its_name(tmp_path: Path) -> None:
    store_match(tmp_path, [f"ann={FIRST}", f"level-2={FIRST}"], "nim", config={"heaps": [1, 2]})
    out = rerun(tmp_path, "latest", "--bot", LAST, "--seat", "ann").out.splitlines()
    assert "seat 1, level-2: the reference bot level:2, by its name" in out


def test_over_several_games_it_is_said_which_one_to_choose_and_payoffs_are_said_to_be_sums(data: Path) -> None:
    match = store_match(data, [f"ann={FIRST}", f"ben={FIRST}"], "kuhn", config={"hands": 4})
    assert refused(data, "--all", "ann", "--bot", "alphabeta") == (
        f"alphabeta does not play kuhn, as in {match}: add --game nim"
    )
    words = ("--game", "kuhn", "--bot", LAST, "--old", FIRST, "--opponent", f"ben={FIRST}")
    done = rerun(data, "--all", "ann", *words)
    assert "payoff in all, by 4 continuations each with the same dice, less luck by " in done.out
    assert ", summed over the rounds of a match\n" in done.out


@pytest.mark.ci
def test_several_processes_find_the_same(data: Path) -> None:
    words = ("latest", "--bot", "random", *ANN, "--old", "random")
    assert rerun(data, *words, "--jobs", "2", continuations=25).out == rerun(data, *words, continuations=25).out


def test_a_tournament_s_reference_bots_play_on_with_their_settings_and_chance(tmp_path: Path) -> None:
    folder = str(tmp_path)
    words = ("tournament", "random", "deep=alphabeta", "--game", "tictactoe", "--set", "depth=2", "--rounds", "2")
    assert tournaments.played("arena", *words, "--in-process", "--jobs", "1", "--seed", "5", "--data", folder).code == 0
    out = rerun(tmp_path, "--all", "random", "--bot", "random").out.splitlines()
    assert out[0].endswith("2 matches, 2 of them the same to the end")
    assert "deep: alphabeta (--set depth=2), as its tournament had it" in out
    assert "random as it was: random, as its tournament had it" in out


def test_a_hosted_bot_is_not_taken_for_the_reference_bot_of_its_name() -> None:
    header = SimpleNamespace(tournament="t1", match="m1", game="nim", seats=[SimpleNamespace(bot="random")] * 2)
    described = []
    for hosted in ({}, {"Random": {"version": 1}}):
        arguments = OriginArguments(bots=["random", "greedy"], hosted=hosted)
        origin = TournamentOrigin(arguments, "1", "t1")
        resolver = BotResolver("greedy", None, (), None, "1", lambda name, origin=origin: origin)
        described.append(resolver.resolve(header, 0).others[1])  # type: ignore[arg-type]
    assert described[0] == "random, as its tournament had it"
    assert described[1].endswith("as a stand-in")


def test_a_tournament_whose_stored_arguments_were_changed_is_refused_in_a_line(tmp_path: Path) -> None:
    words = ("tournament", "random", "greedy", "--game", "nim", "--rounds", "1", "--in-process", "--jobs", "1")
    assert tournaments.played("arena", *words, "--seed", "5", "--data", str(tmp_path)).code == 0
    for arguments in ("{}", "[]", "3", "{", '{"bots": 3}', '{"bots": [1]}', '{"bots": [], "settings": 1}'):
        with closing(sqlite3.connect(tmp_path / "arena.db")) as database, database:
            database.execute("UPDATE tournaments SET arguments = ?", (arguments,))
        said = refused(tmp_path, "--all", "random", "--bot", LAST)
        assert said.endswith(": its arguments in the database are not those of a tournament: restore a backup")


def test_what_can_t_be_played_again_is_refused_in_a_line(data: Path, tmp_path: Path) -> None:
    assert refused(data, "no-such", "--bot", LAST).startswith("there is no match 'no-such' in ")
    there = "the seats of play-"
    assert refused(data, "latest", "--bot", LAST, "--seat", "2").startswith(f"--seat 2: {there}")
    assert refused(data, "latest", "--bot", LAST, "--seat", "eve").endswith(" are 0 (ann), 1 (greedy)")
    assert "there is no bot 'nobody'" in refused(data, "latest", "--bot", "nobody")
    assert refused(data, "latest", "--bot", "raider").startswith("raider does not play nim, as in play-")
    assert "gone.py can't be read: No such file" in refused(data, "latest", "--bot", str(tmp_path / "gone.py"))
    assert "can't play in process" in refused(data, "latest", "--bot", "x=./program --fast")
    assert refused(data, "latest", "--bot", LAST, "--opponent", FIRST).endswith(
        "write NAME=BOT, with the NAME of the bot in the match"
    )
    assert refused(data, "latest", "--bot", LAST, "--opponent", f"eve={FIRST}").endswith(
        "nobody is called so there: ann, greedy"
    )
    assert (
        rerun(data, "latest", "--bot", LAST, continuations=1).err == "arena: --continuations is 1: it is 2 to 100000\n"
    )
    one = "play one match again, by its ID or FILE, or all of a bot, by --all NAME: one of them"
    assert refused(data, "--bot", LAST) == refused(data, "latest", "--all", "ann", "--bot", LAST) == one
    assert refused(data, "latest", "--lost", "--bot", LAST).endswith(" are for --all NAME")
    assert refused(data, "--all", "ann", "--seat", "1", "--bot", LAST).startswith("--seat is for one match: ")
    assert refused(data, "--all", "eve", "--bot", LAST).startswith("there is no bot called eve")
    assert refused(data, "--all", "ann", "--drawn", "--bot", LAST).startswith("no match of ann fits")


def test_a_record_that_does_not_verify_and_a_match_that_was_called_off_are_refused(data: Path) -> None:
    file = data / "changed.jsonl"
    body = call("arena", "replay", "export", "latest", "--to", str(file), "--data", str(data))
    assert body.code == 0
    changed = file.read_text().replace('"ranks":[1,2]', '"ranks":[2,1]')
    file.write_text(changed)
    done = rerun(data, str(file), "--bot", LAST, *ANN)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "ranks should be [1, 2], the footer says [2, 1]" in done.err
    file.write_text(changed.replace('"reason":"win"', '"reason":"void"'))
    assert "was called off" in refused(data, str(file), "--bot", LAST)


def test_a_drawn_match_has_no_loser_whose_seat_is_taken(tmp_path: Path) -> None:
    store_match(tmp_path, ["alphabeta", "bob=alphabeta"], "tictactoe")
    assert "alone: name the seat, --seat with one of 0 (alphabeta), 1 (bob)" in refused(
        tmp_path, "latest", "--bot", "random"
    )
