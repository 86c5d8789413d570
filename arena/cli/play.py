"""The words of `arena tournament` and `arena test`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.options import (
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
    bots: Annotated[list[str] | None, typer.Argument(metavar="BOT...", help=BOTS)] = None,
    entrants: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who plays, too: CSV or TOML with name and command, or bot.")
    ] = None,
    game: ToPlay = None,
    sets: Sets = None,
    form: Annotated[str, typer.Option("--format", help="round-robin, gauntlet or swiss.")] = "round-robin",
    rounds: Annotated[int, typer.Option(help="How often everyone meets; of a swiss: the rounds.")] = 1,
    paired: Annotated[bool, typer.Option("--paired", help="Every start twice, with the seats swapped.")] = False,
    strict: Annotated[
        bool | None, typer.Option("--strict/--no-strict", help="Stop when a bot fails for good [of two bots only].")
    ] = None,
    connect_timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Connect timeout of a bot.")] = 180.0,
    at: Annotated[
        str | None, typer.Option(metavar="URL|FOLDER", help="Among the bots of a running server, by their names.")
    ] = None,
    operator_token: Annotated[
        str | None, typer.Option(envvar="ARENA_OPERATOR_TOKEN", help="Of the server at a URL.")
    ] = None,
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
    words = dict(locals())
    from arena.commands.entrants_file import read_entrants
    from arena.commands.tournament import run
    from arena.commands.tournament_options import TournamentOptions

    del words["entrants"]
    if not bots and entrants is None:
        raise UsageFault("who plays? Name the bots, or a file of them with --entrants")
    words["bots"] = [*(bots or ()), *([] if entrants is None else read_entrants(entrants))]
    run(TournamentOptions(**_given(words)))


def run_test(
    bots: Annotated[list[str], typer.Argument(metavar="A B", help=BOTS)],
    game: ToPlay = None,
    sets: Sets = None,
    h0: Annotated[float | None, typer.Option(help="Null hypothesis: A's advantage [0].")] = None,
    h1: Annotated[float | None, typer.Option(help="Alternative: A's advantage [0.02], a score above one half.")] = None,
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
    words = dict(locals())
    from arena.commands.sprt import run
    from arena.commands.sprt_options import SprtOptions

    run(SprtOptions(**_given(words)))


def _given(words: Mapping[str, Any]) -> dict[str, Any]:
    """A command's words as its options have them. Raises `UsageFault` where no game is named."""
    from arena.commands.config import data_folder
    from protocol.games import NAMES

    if words["game"] is None:
        raise UsageFault(f"--game is missing: one of {', '.join(NAMES)}")
    lists = {name: words[name] or () for name in ("sets", "pass_env", "read")}
    return {**words, **lists, "data": data_folder(words["data"])}
