"""`arena-bot analyze` and `arena-bot compare`: exact facts about positions, searches side by side; tables or JSON."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from protocol.errors import BadConfig, UnknownGame, UsageFault
from protocol.games import NAMES

if TYPE_CHECKING:
    from bots.analysis.searches import Comparison
    from protocol.games.theory.heaps import Heap

MOST_HEAPS = 64
LARGEST_NIM_HEAP = 1_000_000
LARGEST_GRUNDY_HEAP = 10_000
_SHOWN_MOVES = 12
_MANY_POSITIONS = 200_000
"""More than these are solved in more than a few seconds."""

analyze = typer.Typer(
    name="analyze",
    help="Exact facts about a position.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_NEGATIVE = {"ignore_unknown_options": True}
"""A heap of −1 is a bad heap, not an option."""

HeapsArgument = Annotated[str, typer.Argument(metavar="HEAPS", help="Sizes with commas, as 10,20,30.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Strategies = Annotated[bool, typer.Option("--strategies", help="Play all strategies against each other instead.")]


@analyze.command(context_settings=_NEGATIVE)
def nim(
    heaps: HeapsArgument,
    take: Annotated[str | None, typer.Option(help="What may be taken, as 1,3,5; any positive number without.")] = None,
    misere: Annotated[bool, typer.Option("--misere", help="Who cannot move wins.")] = False,
    strategies: Strategies = False,
    json_: Json = False,
) -> None:
    """Nim: class, value, Grundy value, best moves, reachable positions, difficulty."""
    from protocol.games.theory.heaps import taking

    sizes = read_numbers("heap", heaps, 0, LARGEST_NIM_HEAP, MOST_HEAPS)
    removals = None
    if take is not None:
        removals = tuple(sorted(set(read_numbers("--take", take, 1, LARGEST_NIM_HEAP, 16))))
    _show(sizes, taking(removals), misere=misere, strategies=strategies, as_json=json_)


@analyze.command(context_settings=_NEGATIVE)
def grundy(heaps: HeapsArgument, strategies: Strategies = False, json_: Json = False) -> None:
    """Grundy's game: the same facts."""
    from protocol.games.theory.heaps import SPLIT

    sizes = read_numbers("heap", heaps, 1, LARGEST_GRUNDY_HEAP, MOST_HEAPS)
    _show(sizes, SPLIT, misere=False, strategies=strategies, as_json=json_)


@analyze.command()
def duel(
    map_: Annotated[str, typer.Argument(metavar="MAP", help="A map's name, or a file like my.toml.")],
    max_troops: Annotated[int, typer.Option(help="The cap on a territory's troops, 3 to 100.")] = 10,
    play: Annotated[bool, typer.Option("--best-play", help="Also how long best play lasts and attacks.")] = False,
    json_: Json = False,
) -> None:
    """Bounded Risk on a small map, solved: the value of the empty board and of each first move."""
    from bots.analysis.duel import duel_facts
    from bots.commands.maps import from_argument
    from machine.exact.duel_shape import shape_of

    if not 3 <= max_troops <= 100:
        raise UsageFault(f"--max-troops is {max_troops}: 3 to 100")
    try:
        board = from_argument(map_)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    positions = shape_of(board, max_troops).positions
    if positions > _MANY_POSITIONS:
        then = ", and more for best play" if play else ""
        print(f"arena-bot: solving {positions:,} positions: up to some 20 s a million{then}", file=sys.stderr)
    facts = duel_facts(board, max_troops, play=play)
    if json_:
        print(json.dumps(facts))
    else:
        _print_duel(facts)


def compare(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"From its first position: {', '.join(NAMES)}.")],
    depth: Annotated[int | None, typer.Option(help="Plies, 1 to 64; else the whole game if that is feasible.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A config key.")] = None,
    preset: Annotated[str | None, typer.Option(help="A preset of the game.")] = None,
    eval_: Annotated[str | None, typer.Option("--eval", metavar="NAME", help="The evaluation at the horizon.")] = None,
    json_: Json = False,
) -> None:
    """Every search on one position: nodes, leaves, value and seconds."""
    from bots.analysis.searches import compare_searches
    from bots.client.values import read_config
    from bots.evaluation import evaluation
    from protocol.dice import Dice
    from protocol.games import load

    if depth is not None and not 1 <= depth <= 64:
        raise UsageFault(f"--depth is {depth}: 1 to 64 plies")
    try:
        rules = load(game, read_config(set_ or (), preset))
    except (UnknownGame, BadConfig) as exc:
        raise UsageFault(str(exc)) from exc
    root = rules.initial(Dice(b"compare", 0))[0]
    comparison = compare_searches(rules, root, depth, evaluation(game, eval_))
    if json_:
        import msgspec

        print(msgspec.json.encode(comparison.searches).decode())
    else:
        _print_comparison(game, comparison)


def read_numbers(what: str, text: str, low: int, high: int, most: int) -> tuple[int, ...]:
    """Integers with commas. Raises `UsageFault`, naming the one that is wrong."""
    parts = text.split(",")
    if len(parts) > most:
        raise UsageFault(f"{len(parts)} numbers for {what}: at most {most}")
    numbers = []
    for part in parts:
        digits = part.strip()
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 9 else -1
        if not low <= number <= high:
            raise UsageFault(f"{what} {digits[:40]!r}: integers from {low} to {high} with commas, as 10,20,30")
        numbers.append(number)
    return tuple(numbers)


def _show(heaps: tuple[int, ...], rule: Heap, *, misere: bool, strategies: bool, as_json: bool) -> None:
    if strategies:
        _show_contest(heaps, rule, misere, as_json)
        return
    facts = position_facts(heaps, rule, misere=misere)
    if as_json:
        print(json.dumps(facts))
    else:
        _print_facts(facts)


def position_facts(heaps: tuple[int, ...], rule: Heap, *, misere: bool = False) -> dict[str, Any]:
    """What `analyze` tells of a position, ready for JSON.

    `grundy` is null in misère; `p_positions` and `n_positions` count those that can be reached, this one included, and
    are null, as `difficulty` is, where there are too many. `difficulty` is the chance that a uniformly random winning
    side errs before the end.
    """
    from machine.exact.heaps import as_sent
    from protocol.games.theory.difficulty import Difficulty, count, reachable
    from protocol.games.theory.impartial import best_moves, outcome, value
    from protocol.games.theory.impartial import grundy as grundy_value

    share = value(heaps, rule, misere=misere)
    found = reachable(heaps, rule)
    counts = (None, None) if found is None else count(found, rule, misere=misere)
    best = best_moves(heaps, rule, misere=misere)
    return {
        "heaps": list(heaps),
        "class": outcome(heaps, rule, misere=misere),
        "value": float(share),
        "fraction": str(share),
        "grundy": None if misere else grundy_value(heaps, rule),
        "best_moves": [
            {**as_sent(heaps, move), "heap": i} for i, size in enumerate(heaps) for move in best if move.heap == size
        ],
        "p_positions": counts[0],
        "n_positions": counts[1],
        "difficulty": None if found is None else Difficulty(rule, misere=misere).error(heaps),
    }


def _print_duel(facts: dict[str, Any]) -> None:
    play = facts["best_play"]
    rows = [
        ("map", f"{facts['map']}, at most {facts['max_troops']} troops"),
        ("positions", f"{facts['positions']:,} as the mover sees them"),
        ("value", f"{facts['value']:+.6f}, expected result of seat 0, which begins"),
        *((move["name"], f"{move['value']:+.6f}, {_best_replies(move['replies'])}") for move in facts["first_moves"]),
        ("solved", f"{facts['sweeps']} sweeps, {facts['seconds']:.2f} s"),
    ]
    if play is not None:
        chosen = f"{play['chosen_attacks']:.1f} where a reinforcement was legal"
        rows += [
            ("best play", f"{play['plies']:.1f} plies, {play['attacks']:.1f} attacks, {chosen}"),
            ("ply limit", f"{play['unfinished']:.1e} of these games are a draw by it"),
        ]
    _print_table(["", ""], rows, header=False)


def _best_replies(replies: Sequence[dict[str, Any]]) -> str:
    from machine.exact.duel import EQUAL

    best = max(reply["value"] for reply in replies)
    names = [reply["name"].removeprefix("invade ") for reply in replies if reply["value"] > best - EQUAL]
    return "then any" if len(names) == len(replies) else f"then {' or '.join(names)}"


def _print_facts(facts: dict[str, Any]) -> None:
    who = "the mover loses" if facts["class"] == "P" else "the mover wins"
    best = [" ".join(f"{key} {number}" for key, number in move.items()) for move in facts["best_moves"]]
    more = f" and {len(best) - _SHOWN_MOVES} more" if len(best) > _SHOWN_MOVES else ""
    rows = [
        ("heaps", ", ".join(map(str, facts["heaps"]))),
        ("class", f"{facts['class']}: {who}"),
        ("value", f"{facts['fraction']} of the resulting positions are lost for the opponent"),
        ("Grundy value", _or_dash(facts["grundy"])),
        ("best moves", ("; ".join(best[:_SHOWN_MOVES]) or "none: the game is over") + more),
        ("P-positions", _or_many(facts["p_positions"])),
        ("N-positions", _or_many(facts["n_positions"])),
        ("difficulty", _or_many(facts["difficulty"])),
    ]
    _print_table(["", ""], rows, header=False)


def _or_dash(number: int | None) -> str:
    return "none: misère" if number is None else str(number)


def _or_many(number: float | None) -> str:
    if number is None:
        return "too many positions to tell"
    return f"{number:,}" if isinstance(number, int) else f"a random winner errs in {number:.1%} of games"


def _show_contest(heaps: Sequence[int], rule: Heap, misere: bool, as_json: bool) -> None:
    from bots.analysis.strategies import ABOUT, Contest

    contest = Contest(rule, misere=misere)
    starts = contest.lost_positions(heaps)
    if not starts:
        raise UsageFault(f"heaps {','.join(map(str, heaps))}: no lost position with a move has heaps within these")
    shares = contest.shares(starts)
    pair = contest.pair(heaps)
    if as_json:
        print(json.dumps({"positions": len(starts), "shares": shares, "pair": pair._asdict() if pair else None}))
        return
    count = "1 position" if len(starts) == 1 else f"{len(starts)} positions"
    print(f"Wins in % of the row, which begins lost ({count}), against the column:\n")
    _print_table(["", *ABOUT], [(row, *(f"{100 * share:.1f}" for share in of.values())) for row, of in shares.items()])
    print()
    _print_table(["", ""], list(ABOUT.items()), header=False)
    if pair:
        told = (
            f"Equal value {pair.value:.3f}, unequal difficulty: {list(pair.easier)} errs in "
            f"{pair.easier_difficulty:.1%}, {list(pair.harder)} in {pair.harder_difficulty:.1%}."
        )
        print(f"\n{textwrap.fill(told, 80)}")


def _print_comparison(game: str, comparison: Comparison) -> None:
    from bots.analysis.searches import WITHOUT_CHANCE
    from bots.search import ENDLESS

    depth = "1 ply" if comparison.depth == 1 else f"{comparison.depth} plies"
    names = {search.algorithm for search in comparison.searches}
    left_out = [name for name in WITHOUT_CHANCE if name not in names]
    print(f"{game}, {'the whole game' if comparison.depth == ENDLESS else depth}")
    print(f"deepening is star1+table, ply by ply{'; status keeps every label it found' if 'status' in names else ''}")
    if left_out:
        print(f"left out, as there is chance: {', '.join(left_out)}")
    print()
    rows = [
        (
            search.algorithm,
            f"{search.nodes:,}",
            f"{search.leaves:,}",
            f"{comparison.share(search):.2%}",
            f"{comparison.branching(search):.2f}",
            f"{search.value:.6g}",
            f"{search.seconds:.3f}",
        )
        for search in comparison.searches
    ]
    _print_table(["algorithm", "nodes", "leaves", "share", "branching", "value", "seconds"], rows)


def _print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, header: bool = True) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if header and i else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
