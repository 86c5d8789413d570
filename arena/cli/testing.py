"""The words of `arena test`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from arena.cli.words import Data, Database
from protocol.errors import UsageFault


def run_test(
    bots: Annotated[list[str], typer.Argument(metavar="A B", help="NAME, NAME=COMMAND or NAME=BOT:KEY=VALUE,…")],
    game: Annotated[str | None, typer.Option(help="The game to play  [required]")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Of the game or the bots.")
    ] = None,
    h0: Annotated[float | None, typer.Option(help="What A has more than B if it is no better [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="What it has more if it is [0.02]: a score above one half.")] = None,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where A is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    raw: Annotated[bool, typer.Option("--raw", help="Of results as they are, luck and all.")] = False,
    value: Annotated[str | None, typer.Option(help="What luck is measured by [the best there is].")] = None,
    pairs: Annotated[int | None, typer.Option(help="Exactly so many, whatever they show.")] = None,
    most: Annotated[int | None, typer.Option(help="At most so many pairs [10000].")] = None,
    clock: Annotated[str, typer.Option(help="Seconds and increment.")] = "10+0.1",
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same test.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Matches at once.")] = None,
    db: Database = None,
    data: Data = None,
    to_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all of it there.")] = None,
    pass_env: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A variable that bots get too.")] = None,
    sandbox: Annotated[str, typer.Option(help="Where your own bots run: none, users or bwrap.")] = "none",
    read: Annotated[list[Path] | None, typer.Option(metavar="PATH", help="What bots may read in a sandbox.")] = None,
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of each process in a sandbox.")] = 2048,
) -> None:
    """Play two bots in pairs of matches until it is clear whether A is better than B."""
    from arena.commands.config import data_folder
    from arena.commands.test import run
    from arena.commands.test_options import Options
    from protocol.games import NAMES

    if game is None:
        raise UsageFault(f"--game is missing: one of {', '.join(NAMES)}")
    run(
        Options(
            bots=bots,
            game=game,
            sets=set_ or (),
            h0=h0,
            h1=h1,
            unit=unit,
            alpha=alpha,
            beta=beta,
            raw=raw,
            value=value,
            pairs=pairs,
            most=most,
            clock=clock,
            seed=seed,
            jobs=jobs,
            db=db,
            data=data_folder(data),
            to_json=to_json,
            pass_env=pass_env or (),
            sandbox=sandbox,
            read=read or (),
            memory=memory,
        )
    )
