"""`arena-bot analyze`: exact facts about positions, as tables or JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.commands.output import Json, exit_on_interrupt, print_table
from machine.arguments import read_file
from machine.terminal import say
from protocol.display import short_repr
from protocol.errors import BadConfig, UsageFault
from protocol.games.risk.board import Board
from protocol.games.risk.maps import MAP_NAMES, find_map, load_map

if TYPE_CHECKING:
    from protocol.games.theory.heaps import HeapRule


def read_map(text: str) -> Board:
    """Return the map that a command-line word names: one of `MAP_NAMES`, or a file, `my.toml` or `@my.toml`.

    Raise `UsageFault` if the word is neither or the file cannot be read, `BadConfig` if the file is no map.
    """
    if text in MAP_NAMES:
        return load_map(text)
    if not text.startswith("@") and not text.endswith((".toml", ".json")):
        raise UsageFault(f"there is no map {short_repr(text)}: one of {', '.join(MAP_NAMES)}, or a file like my.toml")
    return find_map(read_file(text.removeprefix("@")))


MAX_HEAPS = 64
"""The maximum number of heaps of a position to analyse."""
MAX_NIM_HEAP = 1_000_000
"""The largest heap of nim to analyse."""
MAX_GRUNDY_HEAP = 10_000
"""The largest heap of Grundy's game to analyse."""
_MAX_SHOWN_MOVES = 12
"""The maximum number of winning moves that the table of a heap position shows."""
_SLOW_SOLVE_POSITIONS = 200_000
"""The number of positions from which solving a map takes more than a few seconds."""

analyze = typer.Typer(
    name="analyze",
    help="Analyse positions and strategies exactly.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_ALLOW_NEGATIVE_NUMBERS = {"ignore_unknown_options": True}
"""The context settings of commands whose argument may be a number like −1, which then is not read as an option."""

HeapsArgument = Annotated[str, typer.Argument(metavar="HEAPS", help="Sizes of the heaps, like 10,20,30.")]
Strategies = Annotated[bool, typer.Option("--strategies", help="Play all strategies against each other instead.")]


@analyze.command(context_settings=_ALLOW_NEGATIVE_NUMBERS)
def nim(
    heaps: HeapsArgument,
    take: Annotated[str | None, typer.Option(help="The numbers that may be taken, like 1,3,5 [any].")] = None,
    misere: Annotated[bool, typer.Option("--misere", help="The player who cannot move wins.")] = False,
    strategies: Strategies = False,
    json_: Json = False,
) -> None:
    """Analyse nim: value, Grundy value, best moves, difficulty."""
    from protocol.games.theory.heaps import nim_rule

    sizes = read_numbers("heap", heaps, 0, MAX_NIM_HEAP, MAX_HEAPS)
    removals = None
    if take is not None:
        removals = tuple(sorted(set(read_numbers("--take", take, 1, MAX_NIM_HEAP, 16))))
    _show(sizes, nim_rule(removals), misere=misere, strategies=strategies, as_json=json_)


@analyze.command(context_settings=_ALLOW_NEGATIVE_NUMBERS)
def grundy(heaps: HeapsArgument, strategies: Strategies = False, json_: Json = False) -> None:
    """Analyse Grundy's game: value, Grundy value, best moves, difficulty."""
    from protocol.games.theory.heaps import GRUNDY_RULE

    sizes = read_numbers("heap", heaps, 1, MAX_GRUNDY_HEAP, MAX_HEAPS)
    _show(sizes, GRUNDY_RULE, misere=False, strategies=strategies, as_json=json_)


@analyze.command()
def duel(
    map_: Annotated[str, typer.Argument(metavar="MAP", help="A map's name, or a file like my.toml.")],
    max_troops: Annotated[int, typer.Option(help="The cap on a territory's troops, 3 to 100.")] = 10,
    play: Annotated[bool, typer.Option("--best-play", help="Also print how long best play lasts and attacks.")] = False,
    curve: Annotated[
        str | None, typer.Option(metavar="A-B", help="Print only the value, for each cap from A to B.")
    ] = None,
    json_: Json = False,
) -> None:
    """Solve bounded Risk on a small map.

    Prints the value of the empty board and of each first move.
    """
    from bots.analysis.duel import duel_facts
    from machine.cache import cache_folder
    from machine.exact.duel import load_mapped
    from machine.exact.duel_shape import small_shape_of

    if not 3 <= max_troops <= 100:
        raise UsageFault(f"--max-troops is {max_troops}: it must be 3 to 100")
    try:
        board = read_map(map_)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    if curve is not None:
        if play:
            raise UsageFault("--best-play is for one cap: leave out --curve")
        _show_curve(board, curve, as_json=json_)
        return
    table = load_mapped(board, max_troops, cache_folder())
    positions = small_shape_of(board, max_troops).positions if table is None else 0
    if positions > _SLOW_SOLVE_POSITIONS:
        then = ", and more for best play" if play else ""
        say(f"arena-bot: solving {positions:,} positions, up to 20 s per million{then}", err=True)
    facts = duel_facts(board, max_troops, table, play=play)
    if json_:
        say(json.dumps(facts))
    else:
        _print_duel(facts)


@analyze.command(context_settings=_ALLOW_NEGATIVE_NUMBERS)
def dilemma(
    strategies: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STRATEGY]...",
            help="Names, or five chances to cooperate: at first, after CC, CD, DC, DD (1,1,0,1,0). All names without.",
        ),
    ] = None,
    noise: Annotated[str, typer.Option(help="The chance that a choice is changed, 0 to 0.5.")] = "0",
    go_on: Annotated[str, typer.Option(help="The chance that another round follows.")] = "1",
    rounds: Annotated[int | None, typer.Option(help="Maximum rounds [unlimited].")] = None,
    payoffs: Annotated[
        str, typer.Option(metavar="R,S,T,P", help="Payoffs of CC, CD, DC, DD to the first player.")
    ] = "3,0,5,1",
    json_: Json = False,
) -> None:
    """Compute the exact scores of strategies of the dilemma.

    The strategies remember one round; scores are per round.
    """
    from bots.analysis.dilemma import MAX_ROUNDS, read_payoffs, read_probability, score_strategies

    if rounds is not None and not 1 <= rounds <= MAX_ROUNDS:
        raise UsageFault(f"--rounds is {rounds}: it must be 1 to {MAX_ROUNDS}; leave it out for unlimited rounds")
    chances = read_probability("--noise", noise, "1/2"), read_probability("--go-on", go_on, "1")
    table = score_strategies(strategies or (), read_payoffs(payoffs), noise=chances[0], go_on=chances[1], rounds=rounds)
    if json_:
        say(json.dumps({name: {other: float(score) for other, score in row.items()} for name, row in table.items()}))
        return
    rows = [
        (name, *(f"{float(score):z.2f}" for score in row.values()), f"{float(sum(row.values()) / len(row)):z.2f}")
        for name, row in table.items()
    ]
    say("Payoff per round of the row against the column (in the same order), and mean:\n")
    print_table(["", *map(str, range(1, len(rows) + 1)), "mean"], rows)


def read_numbers(what: str, text: str, low: int, high: int, max_count: int) -> tuple[int, ...]:
    """Return the integers of a comma-separated list. If a part is wrong, raise a `UsageFault` that names it."""
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


def _show(heaps: tuple[int, ...], rule: HeapRule, *, misere: bool, strategies: bool, as_json: bool) -> None:
    if strategies:
        _show_contest(heaps, rule, misere, as_json)
        return
    from bots.analysis.heaps import position_facts

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


def _show_curve(board: Board, range_: str, *, as_json: bool) -> None:
    from bots.analysis.duel import solve_curve
    from machine.exact.duel_shape import check_compiled, is_solvable

    first, dash, last = range_.partition("-")
    if not (dash and first.isascii() and first.isdigit() and last.isascii() and last.isdigit() and len(range_) <= 7):
        raise UsageFault(f"--curve is {short_repr(range_)}: give two caps, like 3-8")
    if not 3 <= int(first) <= int(last) <= 100:
        raise UsageFault(f"--curve is {range_}: give caps from 3 to 100, the lower one first")
    check_compiled()
    most = max((cap for cap in range(3, int(last) + 1) if is_solvable(board, cap)), default=0)
    if most < int(last):
        would = f"at most {most} are feasible" if most >= int(first) else "the map is too large"
        raise UsageFault(f"{board.name} with {last} troops has too many positions to solve: {would}")
    worth = solve_curve(board, int(first), int(last))
    with exit_on_interrupt(lambda: "stopped"):
        if as_json:
            say(json.dumps({"map": board.name, "curve": [one._asdict() for one in worth]}))
            return
        say(f"{board.name}: the expected result of seat 0, which moves first\n")
        say(f"{'troops':>6}  {'positions':>15}  {'value':>9}  {'off by':>7}  {'sweeps':>6}  {'s':>7}")
        for one in worth:
            spent = "before" if one.seconds is None else f"{one.seconds:.1f}"
            facts = f"{one.value:>+9.6f}  {one.error:>7.1g}  {one.sweeps:>6}  {spent:>7}"
            say(f"{one.max_troops:>6}  {one.positions:>15,}  {facts}")


def _print_duel(facts: dict[str, Any]) -> None:
    play, seconds, error = facts["best_play"], facts["seconds"], facts["error"]
    spent = "before" if seconds is None else f"{seconds:.2f} s"
    rows = [
        ("map", f"{facts['map']}, at most {facts['max_troops']} troops"),
        ("positions", f"{facts['positions']:,} seen from the mover"),
        ("value", f"{facts['value']:+.6f}, expected result of seat 0, which begins"),
        *(
            (move["name"], f"{move['value']:+.6f}, {_best_replies(move['replies'], error)}")
            for move in facts["first_moves"]
        ),
        ("solved", f"{facts['sweeps']} sweeps, {spent}; values off by {error:.1g} at most"),
    ]
    if play is not None:
        chosen = f"{play['chosen_attacks']:.1f} where a reinforcement was legal"
        rows += [
            ("best play", f"{play['plies']:.1f} plies, {play['attacks']:.1f} attacks, {chosen}"),
            ("ply limit", f"{play['unfinished']:.1e} of these games are drawn by it"),
        ]
    print_table(["", ""], rows, header=False)


def _best_replies(replies: Sequence[dict[str, Any]], error: float) -> str:
    from machine.exact.duel import value_tolerance

    least = max(reply["value"] for reply in replies) - value_tolerance(error)
    names = [reply["name"].removeprefix("invade ") for reply in replies if reply["value"] > least]
    return "then any" if len(names) == len(replies) else f"then {' or '.join(names)}"


def _format_count(number: float | None) -> str:
    if number is None:
        return "unknown: too many positions"
    return f"{number:,}" if isinstance(number, int) else f"a random winner errs in {number:.1%} of games"


def _show_contest(heaps: Sequence[int], rule: HeapRule, misere: bool, as_json: bool) -> None:
    from bots.analysis.heaps import STRATEGY_DESCRIPTIONS, Contest

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
