"""The command `arena-bot analyze dilemma`, which scores strategies against each other."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bots.commands.output import Json, print_table
from machine.terminal import say
from protocol.errors import UsageFault


def analyze_dilemma(
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
    from games.dilemma.analysis import MAX_ROUNDS, read_payoffs, read_probability, score_strategies

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
