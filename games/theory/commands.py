"""The common parts of `arena-bot analyze nim` and `arena-bot analyze grundy`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Annotated

import typer

from bots.commands.output import print_table
from games.theory.heaps import HeapRule
from machine.terminal import say
from protocol.errors import UsageFault

MAX_HEAPS = 64
"""The maximum number of heaps of a position to analyse."""
_MAX_SHOWN_MOVES = 12
"""The maximum number of winning moves that the table of a heap position shows."""

HeapsArgument = Annotated[str, typer.Argument(metavar="HEAPS", help="Sizes of the heaps, like 10,20,30.")]
Strategies = Annotated[bool, typer.Option("--strategies", help="Play all strategies against each other instead.")]


def read_numbers(what: str, text: str, low: int, high: int, max_count: int) -> tuple[int, ...]:
    """Return the integers of a comma-separated list. Raise `UsageFault`, which names the part that is wrong."""
    parts = text.split(",")
    if len(parts) > max_count:
        raise UsageFault(f"{len(parts)} numbers for {what}: at most {max_count}")
    numbers = []
    for part in parts:
        digits = part.strip()
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else -1
        if not low <= number <= high:
            raise UsageFault(f"{what} {digits[:40]!r}: give integers from {low} to {high} with commas, like 10,20,30")
        numbers.append(number)
    return tuple(numbers)


def show_heaps(heaps: tuple[int, ...], rule: HeapRule, *, misere: bool, strategies: bool, as_json: bool) -> None:
    """Print facts about a heap position, or with `strategies` the results of strategies against each other."""
    if strategies:
        _show_contest(heaps, rule, misere, as_json)
        return
    from games.theory.analysis import position_facts

    facts = position_facts(heaps, rule, misere=misere)
    if as_json:
        say(json.dumps(facts))
        return
    who = "the mover loses" if facts["class"] == "P" else "the mover wins"
    best = [" ".join(f"{key} {number}" for key, number in move.items()) for move in facts["best_moves"]]
    more = f" and {len(best) - _MAX_SHOWN_MOVES} more" if len(best) > _MAX_SHOWN_MOVES else ""
    rows = [
        ("heaps", ", ".join(map(str, facts["heaps"]))),
        ("class", f"{facts['class']}: {who}"),
        ("value", f"{facts['fraction']} of the resulting positions are lost for the opponent"),
        ("Grundy value", "none: misère" if facts["grundy"] is None else str(facts["grundy"])),
        ("best moves", ("; ".join(best[:_MAX_SHOWN_MOVES]) or "none: the game is over") + more),
        ("P-positions", _format_count(facts["p_positions"])),
        ("N-positions", _format_count(facts["n_positions"])),
        ("difficulty", _format_count(facts["difficulty"])),
    ]
    print_table(["", ""], rows, header=False)


def _format_count(number: float | None) -> str:
    if number is None:
        return "unknown: too many positions"
    return f"{number:,}" if isinstance(number, int) else f"a random winner errs in {number:.1%} of games"


def _show_contest(heaps: Sequence[int], rule: HeapRule, misere: bool, as_json: bool) -> None:
    from games.theory.analysis import STRATEGY_DESCRIPTIONS, Contest

    contest = Contest(rule, misere=misere)
    starts = contest.lost_positions(heaps)
    if not starts:
        raise UsageFault(f"heaps {','.join(map(str, heaps))}: no lost position with a move fits in these heaps")
    shares = contest.win_rates(starts)
    pair = contest.find_pair(heaps)
    if as_json:
        say(json.dumps({"positions": len(starts), "shares": shares, "pair": pair._asdict() if pair else None}))
        return
    count = "1 position" if len(starts) == 1 else f"{len(starts)} positions"
    say(f"Wins of the row in %, from lost positions ({count}), against the column:\n")
    print_table(
        ["", *STRATEGY_DESCRIPTIONS],
        [(row, *(f"{100 * share:.1f}" for share in of.values())) for row, of in shares.items()],
    )
    say()
    print_table(["", ""], list(STRATEGY_DESCRIPTIONS.items()), header=False)
    if pair:
        told = (
            f"Equal value {pair.value:.3f}, unequal difficulty: {list(pair.easier)} errs in "
            f"{pair.easier_difficulty:.1%}, {list(pair.harder)} in {pair.harder_difficulty:.1%}."
        )
        say(f"\n{textwrap.fill(told, 80)}")
