"""What a tournament tells in the end: tables within a terminal's columns, a file that is whole or the one before."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from arena.commands.tournament_report import Report
from arena.runs.plan import Plan
from commands import on_terminal
from measuring.pair_scores import MIN_UNITS
from plans import plan
from protocol.errors import ArenaFault
from protocol.games import load_game
from referee.result import Result
from seasons import result


def test_a_full_disk_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    Report(plan("ab"), ()).write(file, {})
    before = file.read_bytes()
    (tmp_path / "out.json.part").symlink_to("/dev/full")
    with pytest.raises(ArenaFault) as caught:
        Report(plan("ab"), ()).write(file, {"rounds": 2})
    assert str(caught.value) == f"{file} can't be written: No space left on device"
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def pairs(game: str, names: Sequence[str], rounds: int, form: str = "round-robin") -> Plan:
    return plan(names, game, rounds=rounds, format=form, paired=True)


def played(plan: Plan) -> tuple[list[Result], dict[str, float]]:
    """All matches, decided by the dice but for what the bots' places in the plan are worth; and what these gave."""
    chance, results, luck = random.Random(1), [], {}
    for match in plan.schedule(()):
        edge = 0.03 * (plan.names.index(match.seats[1]) - plan.names.index(match.seats[0]))
        ranks = (1, 2) if chance.random() < 0.5 + edge else (2, 1)
        name = f"t1-{match.place:05d}"
        results.append(result(name, match.seats, ranks, place=match.place))
        luck[name] = (ranks == (1, 2)) - 0.5 - edge + chance.gauss(0, 0.05)
    return results, luck


SHORT = ["ga", "alphabeta", "random"]
LONG = [f"the-{number}-bot-of-thirty-two-letters"[:32] for number in range(8)]


@pytest.mark.parametrize("names", [SHORT[:2], SHORT, LONG[:2], LONG[:3], LONG])
@pytest.mark.parametrize("form", ["round-robin", "gauntlet"])
def test_tables_with_luck_keep_to_80_columns_and_cut_no_number(names: list[str], form: str) -> None:
    entered = pairs("risk-duel", names, MIN_UNITS, form)
    results, luck = played(entered)
    out = on_terminal(lambda: Report(entered, results, luck, "exact").show(Path("data")))
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    assert "\nluck-adjusted by exact; worth" in out
    assert ("one against another" in out) == (len(names) < 8 or form == "gauntlet")
    assert ("luck-adjusted, row against column" in out) == (len(names) == 8 and form == "round-robin")


@pytest.mark.parametrize("raw", [False, True])
def test_bots_are_in_the_order_of_scores_less_luck_and_a_line_says_so_unless_raw_ones_are_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, raw: bool
) -> None:
    entered, file = pairs("risk-duel", SHORT, 16), tmp_path / "out.json"
    results, luck = played(entered)
    report = Report(entered, results, luck, "exact", raw=raw)
    report.write(file, {})
    report.show(Path("data"))
    content = json.loads(file.read_text())
    by = [row["score"] if raw else row["adjusted"]["score"] for row in content["table"]]
    assert by == sorted(by, reverse=True)
    assert content["ranked_by"] == ("score" if raw else "adjusted")
    said = "in the order of scores less luck, by exact; --no-luck-adjustment ranks by plain results"
    assert (said in capsys.readouterr().out) != raw


def test_two_bots_are_told_apart_with_elo_and_how_likely_the_one_is_better(capsys: pytest.CaptureFixture[str]) -> None:
    entered = pairs("risk-duel", SHORT[:2], 200)
    results, luck = played(entered)
    Report(entered, results, luck, "exact").show(Path("data"))
    *_, heading, score, less = capsys.readouterr().out.splitlines()
    assert heading.split() == ["played", "score", "95", "%", "Elo", "95", "%", "better"]
    assert score.split()[:5] == ["ga", "-", "alphabeta", "400", "0.545"]
    assert less.split()[:2] == ["adjusted", "0.530"]
    assert less.endswith("> 99.9 %")


def test_what_too_few_starts_are_worth_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    entered = pairs("risk-duel", SHORT[:2], MIN_UNITS - 1)
    results, luck = played(entered)
    Report(entered, results, luck, "exact").show(Path("data"))
    out = capsys.readouterr().out
    assert "\nluck-adjusted by exact\n" in out
    assert "worth" not in out


def test_where_nothing_is_thrown_nothing_is_said_of_luck(capsys: pytest.CaptureFixture[str]) -> None:
    entered = pairs("nim", SHORT, 4)
    Report(entered, played(entered)[0]).show(Path("data"))
    out = capsys.readouterr().out
    assert "luck" not in out
    assert "one against another" in out


def test_into_a_pipe_names_are_written_in_one_line_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    entered = pairs("risk-duel", LONG, MIN_UNITS)
    results, luck = played(entered)
    Report(entered, results, luck, "exact").show(Path("data"))
    out = capsys.readouterr().out
    for name in entered.names:
        assert any(re.match(rf" ?\d(  \d(-\d)?)? +{name}  ", line) for line in out.splitlines())


def test_of_a_program_that_failed_in_many_ways_the_most_frequent_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    entered = pairs("nim", SHORT[:2], 5)
    results = played(entered)[0]
    whys = ["no memory"] * 4 + [f"way {number}" for number in range(6)]
    at = {one.match: [seat.bot for seat in one.seats].index("ga") for one in results}
    Report(entered, results, failures={match: {at[match]: why} for match, why in zip(at, whys, strict=True)}).show(
        Path("data")
    )
    told = capsys.readouterr().out.partition("ga: 0 matches lost by forfeit or resignation\n")[2].splitlines()
    assert told == [
        "  no memory (4 matches)",
        *(f"  way {n} (1 match)" for n in range(4)),
        "  other failures (2 matches)",
    ]


def test_of_six_seats_the_places_are_shown_within_80_columns() -> None:
    entered = plan(LONG[:6], "risk-campaign", rules=load_game("risk-campaign", {"players": 6}), paired=True)
    results = [
        result(f"t1-{match.place:05d}", match.seats, [1 + entered.names.index(bot) for bot in match.seats])
        for match in entered.schedule(())
    ]
    out = on_terminal(lambda: Report(entered, results).show(Path("data")))
    assert max(map(len, out.splitlines())) <= 80
    assert "\nplaces, 1 to 6\n" in out
    first = out.partition("places, 1 to 6")[2].splitlines()[2].split()
    assert first[0] == "1"
    assert (first[2], first[4]) == ("1.00", "1.000")


def test_the_file_has_what_the_tables_show_and_the_luck_of_every_match(tmp_path: Path) -> None:
    entered, file = pairs("risk-duel", SHORT, 16), tmp_path / "out.json"
    results, luck = played(entered)
    Report(entered, results, luck, "exact").write(file, {})
    content = json.loads(file.read_text())
    assert (content["value"], content["luck"]) == ("exact", pytest.approx(luck))
    assert [match["start"] for match in content["matches"][:4]] == ["t1/0", "t1/0", "t1/1", "t1/1"]
    for row in content["table"]:
        assert row["low"] < row["score"] < row["high"]
        assert row["adjusted"]["low"] < row["adjusted"]["score"] < row["adjusted"]["high"]
        assert row["worth"] > row["played"]
    duel = content["duels"]["ga"]["random"]
    assert duel["matches"] == 32
    assert duel["score"]["score"] == content["head_to_head"]["ga"]["random"]
    assert duel["adjusted"]["elo"]["low"] < duel["adjusted"]["elo"]["elo"] < duel["adjusted"]["elo"]["high"]
    assert 0 < duel["adjusted"]["superiority"] < 1
