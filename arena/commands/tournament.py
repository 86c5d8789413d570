"""`arena tournament`: bots as processes of their own, a progress bar, a table at the end; goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from arena.commands import config
from arena.commands.documents import document
from arena.commands.tables import counted
from arena.ratings.pairing import count
from arena.ratings.standings import TableRow, head_to_head, table, unbeaten
from arena.referee.result import Result
from arena.server import loop
from arena.server.journal import Journal
from arena.store.archive import Archive
from arena.store.lock import lock
from arena.store.store import Store
from arena.tournament.contestants import contestants
from arena.tournament.plan import Plan
from arena.tournament.tournament import Tournament
from machine.files import read_value
from protocol.errors import ArenaFault, BadConfig, UsageFault
from protocol.games import load
from protocol.games.base import shown
from protocol.messages import MAX_SLOTS

FORMATS = ("round-robin", "gauntlet", "swiss")
BOT_SETTINGS = ("battles", "depth", "draft", "eval", "horizon", "nodes", "weights")
"""Keys of `--set` that are not the game's but the reference bots': each takes those it knows."""
WIDEST_CROSS_TABLE = 8
MOST_ROUNDS = 100_000
MOST_MATCHES = 1_000_000
"""A schedule is held in memory."""


def run(
    bots: Sequence[str],
    *,
    game: str,
    sets: Sequence[str],
    form: str,
    rounds: int,
    paired: bool,
    clock: str,
    seed: str | None,
    jobs: int | None,
    db: str | None,
    data: Path,
    to_json: Path | None,
) -> None:
    """Play a tournament, or what is missing of it, and print its table. Raises `Fault`."""
    if form not in FORMATS:
        raise UsageFault(f"there is no format {form!r}: one of {', '.join(FORMATS)}")
    if not 1 <= rounds <= MOST_ROUNDS:
        raise UsageFault(f"--rounds is {rounds}: it is 1 to {MOST_ROUNDS}")
    if jobs is not None and not 1 <= jobs <= MAX_SLOTS:
        raise UsageFault(f"--jobs is {jobs}: it is 1 to {MAX_SLOTS}")
    game_config, bot_settings = _settings(game, sets)
    entered = contestants(bots, bot_settings)
    rules = load(game, game_config)
    if rules.seats != 2 and form == "swiss":
        raise UsageFault(f"a swiss tournament is for two seats; this game has {rules.seats}")
    if len(entered) < rules.seats:
        raise UsageFault(f"a match of {game} has {rules.seats} seats under this config: {len(entered)} bots are given")
    matches = count(form, len(entered), rounds, seats=rules.seats, paired=paired)
    if matches > MOST_MATCHES:
        raise UsageFault(f"that makes {matches:,} matches: at most {MOST_MATCHES:,}, so fewer bots or --rounds")
    arguments = {
        "bots": list(bots),
        "settings": bot_settings,
        "game": game,
        "config": rules.config,
        "format": form,
        "rounds": rounds,
        "paired": paired,
        "clock": clock,
    }
    time = config.clock(clock)
    _check_writable(to_json)
    with lock(data):
        store = Store.open(config.database(db, data))
        key = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        tournament, drawn = store.open_tournament(key, seed)
        plan = Plan(
            id=tournament,
            seed=drawn,
            contestants=tuple(entered),
            rules=rules,
            format=form,
            rounds=rounds,
            paired=paired,
            clock=time,
        )
        results = _play(plan, store, data, jobs or max(1, (os.cpu_count() or 2) - 1))
    rows = table(plan.names, results)
    cross = head_to_head(plan.names, results)
    if to_json is not None:
        _write_json(to_json, plan, arguments, results, rows, cross)
    _show(plan, results, rows, cross, data)


def _settings(game: str, sets: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """`--set` words, as the game's config and the reference bots' settings."""
    game_config: dict[str, Any] = {}
    bot_settings: dict[str, str] = {}
    keys = load(game).config.keys()
    for word in sets:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise UsageFault(f"--set {word}: write KEY=VALUE, like --set heaps=3,5,7")
        if key in keys or key == "preset":
            game_config[key] = read_value(value)
            if key in BOT_SETTINGS:
                _check_meant(game, key, game_config[key])
        elif key in BOT_SETTINGS:
            bot_settings[key] = value
        else:
            raise UsageFault(
                f"{game} has no config key {shown(key)}: one of {', '.join((*keys, 'preset'))}; "
                f"bots have {', '.join(BOT_SETTINGS)}"
            )
    return game_config, bot_settings


def _check_meant(game: str, key: str, value: Any) -> None:
    """Point to the bots where a key of the game's is given what it can't be, as they have one of that name."""
    try:
        load(game, {key: value})
    except BadConfig as exc:
        raise UsageFault(f"{exc}; a bot's goes with the bot, like x=alphabeta:{key}=VALUE") from exc


def _check_writable(file: Path | None) -> None:
    """Say before the first match, not after the last, that the result could not be written."""
    if file is not None and (file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK)):
        raise UsageFault(f"--json {file} can't be written: name a file in a folder that is there")


def _play(plan: Plan, store: Store, data: Path, jobs: int) -> list[Result]:
    played = store.tournament_results(plan.id)
    journal = Journal(data / "journal")
    for result in played:
        journal.forget(result.match)  # it is there only if the arena was killed between storing and forgetting it
    if played:
        again = "" if len(played) < plan.count else ": another --seed or --data plays new ones"
        before = f"{len(played)} of {counted(plan.count, 'match was', 'matches were')} played before{again}"
        print(f"arena: {before}", file=sys.stderr)
    try:
        if len(played) < plan.count:
            _play_missing(plan, store, data, jobs, played)
            store.finish_tournament(plan.id)
        return store.tournament_results(plan.id)
    finally:
        store.close()


def _play_missing(plan: Plan, store: Store, data: Path, jobs: int, played: list[Result]) -> None:
    logging.basicConfig(level=logging.WARNING, format="arena: %(message)s")
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    console = Console(stderr=True)
    progress, task = _progress(console, plan, len(played))

    async def play() -> None:
        archive = Archive(store)
        tournament = Tournament(
            plan,
            archive,
            data,
            jobs,
            told=lambda result: progress.advance(task),
            noted=lambda text: console.print(text, markup=False, highlight=False, soft_wrap=True),
        )
        main = asyncio.current_task()
        assert main is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
        try:
            await tournament.play(played)
        finally:
            await archive.drain()

    try:
        with progress:
            loop.run(play())
    except (KeyboardInterrupt, asyncio.CancelledError):
        done = len(store.tournament_results(plan.id))
        print(
            f"arena: stopped after {done} of {counted(plan.count, 'match', 'matches')}; the same command goes on",
            file=sys.stderr,
        )
        raise KeyboardInterrupt from None


def _progress(console: Console, plan: Plan, done: int) -> tuple[Progress, Any]:
    progress = Progress(
        TextColumn(plan.rules.name),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("matches"),
        TimeRemainingColumn(),
        console=console,
    )
    return progress, progress.add_task(plan.rules.name, total=plan.count, completed=done)


def _show(
    plan: Plan,
    results: Sequence[Result],
    rows: Sequence[TableRow],
    cross: Mapping[str, Mapping[str, float | None]],
    data: Path,
) -> None:
    console = Console(width=None if sys.stdout.isatty() else 80)
    reasons = ", ".join(f"{reason} {times}" for reason, times in Counter(r.reason for r in results).most_common())
    played = counted(len(results), "match", "matches")
    console.print(f"{plan.rules.name} {plan.format}, {played} ({reasons})\nseed {plan.seed}, id {plan.id}")
    if not plan.rated:
        console.print("not rated: no preset has this config")
    standing = Table(box=None, pad_edge=False)
    for column in ("#", "bot", "played", "won", "drawn", "lost", "score", "95 %", "forfeits"):
        standing.add_column(column, justify="left" if column == "bot" else "right", no_wrap=True)
    for row in rows:
        between = f"{row.low:.3f}-{row.high:.3f}"
        cells = (row.rank, row.bot, row.played, row.won, row.drawn, row.lost, f"{row.score:.3f}", between, row.forfeits)
        standing.add_row(*map(str, cells))
    console.print(standing)
    if 2 < len(rows) <= WIDEST_CROSS_TABLE:
        console.print("\nshare of points, row against column")
        console.print(_cross_table([row.bot for row in rows], cross))
    for bot, lost in unbeaten(plan.names, results).items():
        if lost:
            why = ", ".join(f"{reason} {times}" for reason, times in lost.most_common())
            many = counted(lost.total(), "match", "matches")
            console.print(f"\n{bot}: {many} lost without being beaten ({why}); its words:")
            console.print(f"  {plan.log(data, bot)}", markup=False, soft_wrap=True)


def _cross_table(names: Sequence[str], cross: Mapping[str, Mapping[str, float | None]]) -> Table:
    shown = Table(box=None, pad_edge=False)
    shown.add_column("")
    for name in names:
        shown.add_column(name if len(name) <= 9 else name[:8] + "…", justify="right", no_wrap=True)
    for name in names:
        shares = [cross[name].get(other) for other in names]
        shown.add_row(name, *("" if share is None else f"{share:.2f}" for share in shares))
    return shown


def _write_json(
    file: Path,
    plan: Plan,
    arguments: Mapping[str, Any],
    results: Sequence[Result],
    rows: Sequence[TableRow],
    cross: Mapping[str, Any],
) -> None:
    content = {
        "tournament": plan.id,
        "seed": plan.seed,
        "arguments": arguments,
        "table": rows,
        "head_to_head": cross,
        "matches": results,
    }
    try:
        temporary = file.with_name(file.name + ".part")
        temporary.write_bytes(document(content))
        temporary.replace(file)
    except OSError as exc:
        raise ArenaFault(f"{file} can't be written: {exc.strerror}") from exc
