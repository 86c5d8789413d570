"""What came of a tournament is told alike by the terminal, its file, the API and the page, down to the last digit."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from msgspec import json
from msgspec.structs import replace

from arena.commands.tournament_report import Report
from arena.ratings.standings import MatchSample
from arena.ratings.tournament_standings import chance_note, compute_standings
from arena.store.finish import finish_matches
from arena.store.luck_value import MatchLuck
from arena.store.tournament_state import finish_tournament, open_tournament
from arena.store.tournaments import tournament_leaders
from plans import plan
from protocol.games import load_game
from protocol.reasons import NO_SHOW
from referee.result import Result
from seasons import paid, result
from stored_matches import storable
from web_client import Visitor

NAMES = ["perfect", "greedy", "minimax", "late"]


class Played(NamedTuple):
    """A match as it came out, and what is known of its luck."""

    result: Result
    luck: MatchLuck | None = None


Player = Callable[[Random, str, Sequence[str], int], Played]


def _by_skill(chance: Random, bots: Sequence[str], *, edge: float = 0.2) -> tuple[int, int]:
    ahead = NAMES.index(bots[1]) - NAMES.index(bots[0])
    return (1, 2) if chance.random() < 0.5 + edge * ahead else (2, 1)


def _without_dice(chance: Random, match: str, bots: Sequence[str], place: int) -> Played:
    return Played(result(match, bots, _by_skill(chance, bots), place=place), MatchLuck("none", 0.0))


def _with_dice(chance: Random, match: str, bots: Sequence[str], place: int) -> Played:
    ranks = _by_skill(chance, bots, edge=0.05)
    luck = MatchLuck("exact", (ranks == (1, 2)) - 0.5 + chance.gauss(0, 0.05))
    return Played(result(match, bots, ranks, pool="risk-duel/classic", place=place), luck)


def _with_an_absent_bot(chance: Random, match: str, bots: Sequence[str], place: int) -> Played:
    if "late" not in bots:
        return Played(result(match, bots, (1, 1), reason="draw", place=place))
    ranks = (2, 1) if bots[0] == "late" else (1, 2)
    reasons = [NO_SHOW if bot == "late" else "win" for bot in bots]
    return Played(result(match, bots, ranks, reason=NO_SHOW, reasons=reasons, place=place))


def _with_payoffs(chance: Random, match: str, bots: Sequence[str], place: int) -> Played:
    payoffs = [3 - NAMES.index(bot) / 2 + chance.gauss(0, 0.1) for bot in bots]
    return Played(paid(match, bots, payoffs, rounds=chance.choice([10, 200]), place=place))


def _of_four(chance: Random, match: str, bots: Sequence[str], place: int) -> Played:
    ranks = [1 + NAMES.index(bot) for bot in bots]
    return Played(result(match, bots, ranks, pool="risk-campaign/quick", place=place))


TOURNAMENTS: dict[str, tuple[str, dict[str, Any], Player, bool]] = {
    "nim": ("nim", {}, _without_dice, False),
    "nim in pairs": ("nim", {}, _without_dice, True),
    "dice": ("risk-duel", {}, _with_dice, True),
    "an absent bot": ("nim", {}, _with_an_absent_bot, False),
    "payoffs": ("dilemma", {}, _with_payoffs, True),
    "four seats": ("risk-campaign", {"players": 4}, _of_four, True),
}


def _range(row: dict[str, Any]) -> str:
    best, worst = row["best_rank"], row["worst_rank"]
    return str(best) if best == worst else f"{best}–{worst}"


@pytest.mark.parametrize(("game", "config", "player", "paired"), TOURNAMENTS.values(), ids=TOURNAMENTS)
def test_the_terminal_its_file_the_api_and_the_page_tell_the_same(
    visitor: Visitor, tmp_path: Path, game: str, config: dict[str, Any], player: Player, *, paired: bool
) -> None:
    rounds = 4
    arguments = {
        "bots": NAMES, "clock": "10+0.1", "config": config, "format": "round-robin", "game": game, "paired": paired,
        "rounds": rounds,
    }  # fmt: skip
    name = visitor.store.write(open_tournament, json.encode(arguments, order="sorted").decode(), "7")[0]
    entered = plan(NAMES, game, id=name, rules=load_game(game, config), rounds=rounds, paired=paired)
    chance = Random(3)
    matches = [
        player(chance, f"{name}-{pairing.place:05d}", pairing.seats, pairing.place) for pairing in entered.schedule(())
    ]
    stored = [replace(one.result, tournament=name, rated=False, pool=None) for one in matches]
    visitor.store.write(
        finish_matches,
        [storable(one, luck=luck) for one, (_, luck) in zip(stored, matches, strict=True)],
    )
    visitor.store.write(finish_tournament, name)
    luck = {one.result.match: one.luck.points for one in matches if one.luck and one.luck.value != "none"}
    file = tmp_path / "out.json"
    Report(entered, stored, luck, "exact" if luck else None).write(file, {})
    by_command, by_api = (
        json.decode(told) for told in (file.read_bytes(), visitor.get(f"/api/v1/tournaments/{name}").body)
    )
    for field in ("ranked_by", "table", "head_to_head", "payoffs", "value"):
        assert by_api[field] == by_command[field], field
    leaders = visitor.store.read(tournament_leaders, [name])
    assert leaders == {name: [row["bot"] for row in by_command["table"] if row["rank"] == 1]}
    page = visitor.get(f"/tournaments/{name}").text
    places = re.findall(
        r'<tr><td class="number">(.)</td><td class="number">(.+?)</td><th scope="row"><a href="/bots/(\w+)"', page
    )
    assert places == [(str(row["rank"]), _range(row), row["bot"]) for row in by_command["table"]]
    assert ("adjusted for luck" in page) == (by_command["ranked_by"] == "adjusted")
    for row in by_command["table"]:
        kept = row["payoff"] or row["adjusted"] or row
        low, high = (kept["low"], kept["high"]) if row["payoff"] else (100 * kept["low"], 100 * kept["high"])
        assert re.search(rf">{low:.3f}–{high:.3f}<" if row["payoff"] else rf">{low:.1f}–{high:.1f}\u202f%<", page)


def test_who_never_came_is_last_and_who_has_played_nothing_has_no_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    entered = plan([*NAMES, "idle"], rounds=2)
    chance = Random(1)
    results = [
        _with_an_absent_bot(chance, f"m{at}", pairing.seats, pairing.place).result
        for at, pairing in enumerate(entered.schedule(()))
        if "idle" not in pairing.seats
    ]
    Report(entered, results).show(Path("data"))
    places = re.findall(r"^([-\d]) +(\S+) +(\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert places[:5] == [
        ("1", "1-4", "greedy"),
        ("1", "1-4", "minimax"),
        ("1", "1-4", "perfect"),
        ("4", "1-4", "late"),
        ("-", "-", "idle"),
    ]


def met(one: str, other: str, won: int, lost: int = 0) -> list[MatchSample]:
    ranks = [(1, 2)] * won + [(2, 1)] * lost
    return [MatchSample(result("m", (one, other), each), None, None) for each in ranks]


RANGES = "range: the ranks that a bot may have (95 % for all bots together); more rounds narrow it"


def test_ranges_of_ranks_say_which_bots_the_matches_tell_apart_and_a_note_what_they_are() -> None:
    apart = [*met("a", "b", 20), *met("b", "c", 20), *met("a", "c", 20)]
    alike = [*met("b", "c", 10), *met("c", "b", 10)]
    two_pairs = [*met("a", "c", 20), *met("b", "d", 20), *met("a", "d", 20), *met("b", "c", 20)]
    chain = [*met("a", "b", 24, lost=16), *met("b", "c", 24, lost=16), *met("a", "c", 30, lost=10)]
    for matches, ranges, note in (
        ([], "", ""),
        (
            met("a", "b", 1),
            "a1-2 b1-2",
            "these matches don't show (at 95 %) that any bot is better than another; play more rounds",
        ),
        (apart, "a1-1 b2-2 c3-3", "these matches show (at 95 %) the order of all bots"),
        ([*met("a", "b", 20), *met("a", "c", 20), *alike], "a1-1 b2-3 c2-3", RANGES),
        (two_pairs, "a1-2 b1-2 c3-4 d3-4", RANGES),
        (chain, "a1-2 b1-3 c2-3", RANGES),
    ):
        standings = compute_standings("abcd", matches)
        told = [f"{row.bot}{row.best_rank}-{row.worst_rank}" for row in standings.table if row.played]
        assert " ".join(told) == ranges
        assert chance_note(standings) == note


def test_a_bot_that_has_not_played_widens_no_range() -> None:
    table = compute_standings("abcd", met("a", "b", 20)).table
    assert [(row.bot, row.best_rank, row.worst_rank) for row in table] == [
        ("a", 1, 1),
        ("b", 2, 2),
        ("c", None, None),
        ("d", None, None),
    ]
