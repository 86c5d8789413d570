"""`arena test`: one verdict whatever plays it, stopped and gone on with, and what it shows."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from arena.commands import sprt
from arena.commands.tournament import TournamentRun
from arena.sprt.evidence import Evidence
from arena.store.data_folder import lock
from commands import at_terminal, call, faulty, passing, run
from measuring.pair_scores import MIN_UNITS
from tournaments import Interrupted, played

COUNT = " count too: if a bot has changed, use another --seed"
PAIRS = ["--max-pairs", "200"]  # more would be laid out each time
DUEL = ["greedy", "random", "--game", "risk-duel", "--seed", "9", *PAIRS]
DECIDED = (
    r"greedy is better than random\. It scores 0\.\d{3} \(0\.5\d\d-0\.6\d\d\) luck-adjusted, after (\d\d) games; "
    r"if it were no better, at most 5 of 100 tests would say so\."
)


class StorableMatch:
    """A test that was played to its end in a folder: what it printed, what it said meanwhile, what it wrote."""

    def __init__(self, folder: Path, *words: str, **environ: str) -> None:
        self.folder = folder
        file = f"{folder}.json"
        done = played("arena", "test", *words, "--data", str(folder), "--json", file, *passing(environ), **environ)
        assert done.code == 0, done.err
        self.shown = done.out
        self.said = done.err
        self.content: dict[str, Any] = json.loads(Path(file).read_text())

    @property
    def matches(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.content["matches"]
        return found


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> StorableMatch:
    return StorableMatch(tmp_path_factory.mktemp("test") / "first", *DUEL, "--in-process")


def essence(content: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same, whoever played it: all but times."""
    matches = [(match["result"]["match"], match["result"]["digest"], match["luck"]) for match in content["matches"]]
    return {**content, "matches": matches}


def conclusion(shown: str) -> str:
    """The sentence in which a test ends, as one line."""
    return shown.split("\n\n")[-1].replace(" \n", " ").rstrip("\n")


# One test


def test_a_test_ends_in_a_sentence_that_is_a_line_and_shows_its_numbers_on_80_columns(duel: StorableMatch) -> None:
    *lines, _ = duel.shown.splitlines()
    assert max(map(len, lines)) <= 80
    decided = re.fullmatch(DECIDED, conclusion(duel.shown))
    assert decided is not None
    assert conclusion(duel.shown) == duel.content["conclusion"]
    assert lines[0] == f"risk-duel, greedy against random: {decided[1]} games (decided {decided[1]})"
    elo = r"Elo \+\d+ \([-+]\d+ to \+\d+\)  \w+ (> )?\d+\.\d %"
    assert re.fullmatch(rf"score           0\.\d{{3}} \(0\.\d{{3}}-0\.\d{{3}}\)  {elo}", lines[1])
    assert re.fullmatch(rf"luck-adjusted   0\.\d{{3}} \(0\.5\d\d-0\.6\d\d\)  {elo}", lines[2])
    assert re.fullmatch(r"luck measured by exact; worth \d{3} games without adjustment", lines[3])
    assert re.fullmatch(r"at any time     0\.\d{3}-0\.\d{3}, valid whenever you stop,", lines[4])
    assert lines[5] == "                if bots stay as they are and pairs within 0 to 1"
    assert re.fullmatch(r"The LLR is \d\.\d\d: the test accepts h0 \(0 points a game\) below -2\.94,", lines[6])
    assert lines[7] == "and h1 (0.02 points a game) above 2.94."
    assert len(duel.matches) == int(decided[1]) >= 2 * MIN_UNITS


def test_it_says_how_far_it_is_whenever_that_doubled(duel: StorableMatch) -> None:
    said = duel.said.splitlines()
    assert len(said) in (1, 2)
    far = r"arena: \d\d pairs, score 0\.\d+ \(.*?\), luck-adjusted 0\.\d+ \(.*?\), LLR \d\.\d\d \(-2\.94 to 2\.94\)"
    assert all(re.fullmatch(far, line) for line in said)


def test_its_matches_are_pairs_of_both_seat_orders_unrated_and_verify(duel: StorableMatch) -> None:
    results = [match["result"] for match in duel.matches]
    seated = [[seat["bot"] for seat in result["seats"]] for result in results]
    assert [result["place"] for result in results] == list(range(len(results)))
    assert [names[::-1] for names in seated[::2]] == seated[1::2]
    assert {result["pool"] for result in results} == {None}
    assert call("arena", "leaderboard", "--data", str(duel.folder)).out.count("greedy") == 0
    assert call("arena", "replay", "verify", "--data", str(duel.folder)).out == f"{len(results)} records verified\n"
    assert call("arena", "db", "check", "--data", str(duel.folder)).code == 0


def test_what_was_decided_is_shown_again_at_once(duel: StorableMatch) -> None:
    again = played("arena", "test", *DUEL, "--data", str(duel.folder))
    assert again == (0, duel.shown, f"arena: {len(duel.matches)} games were played before{COUNT}\n")


def test_at_a_terminal_the_numbers_are_shown_as_they_come(tmp_path: Path) -> None:
    words = ["greedy", "random", "--game", "nim", "--pairs", "3", "--in-process", "--data", str(tmp_path / "data")]
    done, screen = at_terminal("arena", "test", *words)
    assert done.returncode == 0
    assert re.search(r"nim, greedy against random: \d+ games? \(decided \d+\)", screen)
    assert "score  " in screen


# The same again


@pytest.mark.nightly
@pytest.mark.parametrize("how", [("--jobs", "2"), ("--jobs", "2", "--in-process")], ids=["processes", "in process"])
def test_the_same_seed_gives_the_same_test_whoever_plays_it(
    duel: StorableMatch, tmp_path: Path, how: tuple[str, ...]
) -> None:
    file = tmp_path / "again.json"
    words = (*DUEL, *how, "--data", str(tmp_path / "again"), "--json", str(file))
    done = run("arena", "test", *words)
    assert (done.returncode, done.stdout) == (0, duel.shown)
    assert essence(json.loads(file.read_text())) == essence(duel.content)


def test_results_with_luck_left_in_are_tested_by_their_counts(duel: StorableMatch, tmp_path: Path) -> None:
    raw = StorableMatch(
        tmp_path / "raw", *DUEL, "--no-luck-adjustment", "--h1", "0.2", "--max-pairs", "10", "--in-process"
    )
    assert raw.content["findings"]["adjusted"] is None
    assert raw.content["tournament"] != duel.content["tournament"]
    assert {match["luck"] for match in raw.matches} == {None}
    assert "luck-adjusted" not in raw.shown


def test_a_game_without_dice_has_no_luck_to_be_taken_out(tmp_path: Path) -> None:
    words = ("perfect", "random", "--game", "nim", "--seed", "1", "--h1", "0.2", "--max-pairs", "200", "--in-process")
    nim = StorableMatch(tmp_path / "nim", *words)
    assert "luck" not in nim.shown
    assert conclusion(nim.shown).startswith("perfect is better than random. It scores 1.000 (0.")


# Stopped, and gone on with


HELD_UP = [faulty("halting"), "random", "--game", "nim", "--set", "start=p-position", "--set", "heaps=5,5,5"]
HELD_UP += ["--pairs", "4"]


@pytest.mark.ci
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_test_that_is_told_to_stop_says_how_far_it_is(tmp_path: Path, number: signal.Signals) -> None:
    said = Interrupted(tmp_path, "test", HELD_UP).stopped_by(number)
    assert re.fullmatch(r"arena: stopped after (0 pairs|1 pair, score .*); the same command continues", said)


def test_a_test_that_nothing_has_decided_goes_on_where_more_pairs_are_allowed(tmp_path: Path) -> None:
    words = ["random", "other=random", "--game", "nim", "--in-process", "--data", str(tmp_path / "data")]
    first = played(
        "arena", "test", *words, "--max-pairs", "3", "--seed", "1"
    )  # by which five pairs decide nothing either
    assert (first.code, conclusion(first.out)[:15]) == (0, "it is undecided")
    shown = played("arena", "test", *words, "--max-pairs", "3")
    assert (shown.out, shown.err) == (first.out, f"arena: 6 games were played before{COUNT}\n")
    more = played("arena", "test", *words, "--max-pairs", "5")
    assert more.err.splitlines()[0] == f"arena: 6 games were played before{COUNT}"
    assert "10 games" in more.out


def test_where_one_like_it_was_finished_another_begins_and_the_first_is_a_seed_away(tmp_path: Path) -> None:
    words = ["random", "other=random", "--game", "nim", "--pairs", "1", "--in-process"]
    words += ["--data", str(tmp_path / "data")]
    first = played("arena", "test", *words)
    seed = re.search("^seed (\\w+), id ", first.out, re.MULTILINE)
    assert seed is not None
    another = played("arena", "test", *words)
    says = f"arena: an equal test is finished, --seed {seed[1]} shows it; this is a new one\n"
    assert (another.code, another.err) == (0, says)
    assert seed[0] not in another.out
    assert played("arena", "test", *words, "--seed", seed[1]).out == first.out


# More than two bots


def test_of_three_seats_every_start_is_played_from_each_and_shown_again_with_its_luck(tmp_path: Path) -> None:
    words = ["random", "other=random", "--game", "risk-campaign", "--set", "map=south-america", "--set", "players=3"]
    words += ["--set", "max_rounds=3", "--value", "features-1", "--pairs", "2", "--in-process", "--seed", "3"]
    first = StorableMatch(tmp_path / "data", *words)
    seated = [[seat["bot"] for seat in match["result"]["seats"]] for match in first.matches]
    assert [names.index("random") for names in seated[:3]] != [names.index("other") for names in seated[:3]]
    for start in (seated[:3], seated[3:]):
        assert sorted(names.index("random") for names in start) == [0, 1, 2]
        assert all(sorted(names) == ["other", "other-2", "random"] for names in start)
    assert all(sum(match["luck"]) == pytest.approx(0) for match in first.matches)
    assert first.content["findings"]["adjusted"] is not None
    assert "random in 1 of 3 seats, other in the rest: 6 games" in first.shown
    again = played("arena", "test", *words, "--data", str(tmp_path / "data"))
    assert (again.out, again.err) == (first.shown, f"arena: 6 games were played before{COUNT}\n")
    assert call("arena", "db", "check", "--data", str(tmp_path / "data")).code == 0


SEVERAL = ["perfect", "random", "greedy", "--game", "nim", "--h1", "0.2", "--max-pairs", "200", "--in-process"]


def test_against_several_each_is_tested_in_turn_and_a_sentence_says_what_holds_of_all(tmp_path: Path) -> None:
    both = StorableMatch(tmp_path / "data", *SEVERAL, "--seed", "2")
    assert conclusion(both.shown) == both.content["conclusion"]
    assert both.content["conclusion"].startswith("perfect is better than each of random, greedy. ")
    assert [test["findings"]["verdict"] for test in both.content["tests"]] == ["h1", "h1"]
    assert both.said.count("arena: luck stays in the results: the test takes about 44 games") == 2
    again = played("arena", "test", *SEVERAL, "--seed", "2", "--data", str(both.folder))
    assert again.out == both.shown
    assert again.err.count(COUNT) == 2


def test_against_several_a_test_that_was_stopped_in_its_second_part_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*SEVERAL, "--data", str(tmp_path / "data")]
    play_on = sprt.play_on

    def stopped(test: TournamentRun, evidence: Evidence) -> None:
        if evidence.bots[1] == "greedy":
            patch.setattr(TournamentRun, "play", Mock(side_effect=KeyboardInterrupt))
        play_on(test, evidence)

    with monkeypatch.context() as patch:
        patch.setattr(sprt, "play_on", stopped)
        first = played("arena", "test", *words)
    assert first.code == 130
    said = "arena: stopped after 0 pairs, LLR 0.00 (-3.66 to 3.66); the same command continues"
    assert first.err.splitlines()[-1] == said
    more = played("arena", "test", *words)
    assert (more.code, more.err.count(COUNT)) == (0, 1)
    assert more.out.startswith(first.out)
    assert len(set(re.findall(r"^seed (\w+), id ", more.out, re.MULTILINE))) == 1
    # Its seed shows all of it again; without it, another one begins, of which a line says so.
    with monkeypatch.context() as patch:
        patch.setattr(sprt, "play_on", Mock(side_effect=KeyboardInterrupt))
        another = played("arena", "test", *words)
    (seed,) = set(re.findall(r"^seed (\w+), id ", more.out, re.MULTILINE))
    assert f"arena: an equal test is finished, --seed {seed} shows it; this is a new one\n" in another.err
    assert seed not in another.out


# Bots that fail


def test_a_bot_that_forfeits_is_called_broken_and_its_words_are_named(tmp_path: Path) -> None:
    illegal = StorableMatch(
        tmp_path / "data", faulty("illegal"), "random", "--game", "nim", "--pairs", "2", "--jobs", "2"
    )
    lines = illegal.shown.splitlines()
    told = lines.index("illegal: 4 matches lost by forfeit or resignation (illegal 4); log:")
    assert lines[told + 1 : lines.index("", told)] == [
        f"  {log}" for log in sorted((tmp_path / "data").rglob("illegal.log"))
    ]
    (said,) = illegal.content["warnings"]
    assert said.startswith(
        "illegal forfeited 4 of 4 games, by time, illegal moves, a lost connection or a failed program"
    )


def test_beside_a_server_a_test_has_a_folder_of_its_own_and_goes_on_there(tmp_path: Path) -> None:
    data = tmp_path / "arena-data"
    words = ["arena", "test", "greedy", "random", "--game", "nim", "--seed", "9", "--pairs", "10", "--in-process"]
    with lock(data):
        first = played(*words, ARENA_DATA=str(data))
        again = played(*words, ARENA_DATA=str(data))
        named = call(*words, "--data", str(data))
    own = f"{data}-test"
    assert first.code == again.code == 0, first.err
    said = f"arena: a server or a tournament is using {data}: results go to {own} (--data {own})\n"
    assert first.err.startswith(said)
    assert again.out == first.out
    assert f"20 games were played before{COUNT}" in again.err
    assert (named.code, "is in use by process" in named.err) == (1, True)
    assert [file.name for file in data.iterdir()] == ["lock"]
    assert played(*words, "--data", own).out == first.out
    assert (tmp_path / "arena-data-test" / "arena.db").exists()
