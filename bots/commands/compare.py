"""`arena-bot compare`: compares all searches on one position, as a table or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bots.commands.output import Json, print_table
from bots.search.base import searchable_games
from machine.terminal import say
from protocol.errors import BadConfig, UnknownGame, UsageFault

if TYPE_CHECKING:
    from bots.analysis.searches import SearchComparison


def compare(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"One of {', '.join(searchable_games())}, or FILE.py.")],
    depth: Annotated[int | None, typer.Option(help="Plies, 1 to 64 [the whole game if feasible].")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A config key.")] = None,
    preset: Annotated[str | None, typer.Option(help="A preset of the game.")] = None,
    eval_: Annotated[str | None, typer.Option("--eval", metavar="NAME", help="The evaluation at the horizon.")] = None,
    json_: Json = False,
) -> None:
    """Compare all searches of a game's first position: nodes, leaves, value and seconds."""
    from bots.analysis.searches import compare_searches
    from bots.client.settings import read_config
    from bots.evaluation import load_evaluation
    from machine.game_discovery import locate_failures, resolve_game
    from protocol.dice import Dice
    from protocol.games import load_game

    if depth is not None and not 1 <= depth <= 64:
        raise UsageFault(f"--depth is {depth}: it must be 1 to 64 plies")
    game = resolve_game(game)
    try:
        rules = load_game(game, read_config(set_ or (), preset, "--set"))
    except (UnknownGame, BadConfig) as exc:
        raise UsageFault(str(exc)) from exc
    if game not in searchable_games():
        raise UsageFault(
            f"{game} can't be searched, because it hides information: use one of {', '.join(searchable_games())}"
        )
    evaluate = load_evaluation(game, eval_)
    if not json_:
        told = f"every search runs on the first position of {game}, one after the other; that may take a minute"
        say(f"arena-bot: {told}", err=True)
    with locate_failures():
        comparison = compare_searches(rules, rules.initial(Dice(b"compare", 0))[0], depth, evaluate)
    if json_:
        import msgspec

        say(msgspec.json.encode(comparison.searches).decode())
    else:
        _print(game, comparison)


def _print(game: str, comparison: SearchComparison) -> None:
    from bots.analysis.searches import CHANCELESS_SEARCHES
    from bots.search import MAX_DEPTH

    depth = "1 ply" if comparison.depth == 1 else f"{comparison.depth} plies"
    names = {search.algorithm for search in comparison.searches}
    left_out = [name for name in CHANCELESS_SEARCHES if name not in names]
    say(f"{game}, {'the whole game' if comparison.depth == MAX_DEPTH else depth}")
    say(f"deepening is star1+table, ply by ply{'; status keeps every label it found' if 'status' in names else ''}")
    if left_out:
        say(f"left out because of chance: {', '.join(left_out)}")
    say()
    rows = [
        (
            search.algorithm,
            f"{search.nodes:,}",
            f"{search.leaves:,}",
            f"{comparison.node_ratio(search):.2%}",
            f"{comparison.branching_factor(search):.2f}",
            f"{search.value:.6g}",
            f"{search.seconds:.3f}",
        )
        for search in comparison.searches
    ]
    print_table(["algorithm", "nodes", "leaves", "share", "branching", "value", "seconds"], rows)
