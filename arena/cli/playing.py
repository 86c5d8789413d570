"""The words of `arena tournament` and `arena test`."""

from __future__ import annotations

from typing import Annotated

import typer

from arena.cli.words import (
    Dask,
    Data,
    Database,
    InProcess,
    Jobs,
    JsonFile,
    Memory,
    PassEnv,
    Readable,
    SandboxKind,
    Seconds,
    Seed,
    Sets,
    ToPlay,
)
from protocol.errors import UsageFault

BOTS = "NAME, NAME=COMMAND or NAME=BOT:KEY=VALUE,…"


def run_tournament(
    bots: Annotated[list[str], typer.Argument(metavar="BOT...", help=BOTS)],
    game: ToPlay = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="How often everyone meets; of a swiss: the rounds.")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Every start twice, with the seats swapped.")] = False,
    clock: Seconds = "10+0.1",
    seed: Seed = None,
    jobs: Jobs = None,
    dask: Dask = None,
    in_process: InProcess = False,
    db: Database = None,
    data: Data = None,
    to_json: JsonFile = None,
    pass_env: PassEnv = None,
    sandbox: SandboxKind = "none",
    read: Readable = None,
    memory: Memory = 2048,
) -> None:
    """Play a tournament of local bots, or what is missing of it."""
    from arena.commands.config import data_folder
    from arena.commands.tournament import run
    from arena.commands.tournament_options import Options

    run(
        Options(
            bots=bots,
            game=_named(game),
            sets=sets or (),
            form=form,
            rounds=rounds,
            paired=paired,
            clock=clock,
            seed=seed,
            jobs=jobs,
            dask=dask,
            in_process=in_process,
            db=db,
            data=data_folder(data),
            to_json=to_json,
            pass_env=pass_env or (),
            sandbox=sandbox,
            read=read or (),
            memory=memory,
        )
    )


def run_test(
    bots: Annotated[list[str], typer.Argument(metavar="A B", help=BOTS)],
    game: ToPlay = None,
    sets: Sets = None,
    h0: Annotated[float | None, typer.Option(help="What A has more than B if it is no better [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="What it has more if it is [0.02]: a score above one half.")] = None,
    unit: Annotated[str, typer.Option(help="Of both: score, elo or nelo.")] = "score",
    alpha: Annotated[float, typer.Option(help="How often to be wrong where A is no better.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to be wrong where it is.")] = 0.05,
    raw: Annotated[bool, typer.Option("--raw", help="Of results as they are, luck and all.")] = False,
    value: Annotated[str | None, typer.Option(help="What luck is measured by [the best there is].")] = None,
    pairs: Annotated[int | None, typer.Option(help="Exactly so many, whatever they show.")] = None,
    most: Annotated[int | None, typer.Option(help="At most so many pairs [10000].")] = None,
    clock: Seconds = "10+0.1",
    seed: Seed = None,
    jobs: Jobs = None,
    dask: Dask = None,
    in_process: InProcess = False,
    db: Database = None,
    data: Data = None,
    to_json: JsonFile = None,
    pass_env: PassEnv = None,
    sandbox: SandboxKind = "none",
    read: Readable = None,
    memory: Memory = 2048,
) -> None:
    """Play two bots in pairs of matches until it is clear whether A is better than B."""
    from arena.commands.config import data_folder
    from arena.commands.test import run
    from arena.commands.test_options import Proposal

    run(
        Proposal(
            bots=bots,
            game=_named(game),
            sets=sets or (),
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
            dask=dask,
            in_process=in_process,
            db=db,
            data=data_folder(data),
            to_json=to_json,
            pass_env=pass_env or (),
            sandbox=sandbox,
            read=read or (),
            memory=memory,
        )
    )


def _named(game: str | None) -> str:
    from protocol.games import NAMES

    if game is None:
        raise UsageFault(f"--game is missing: one of {', '.join(NAMES)}")
    return game
