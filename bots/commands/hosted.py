"""`arena-bot hosted`: says how a hosted bot runs, and changes it: pause, version, games, a match now, its source."""

from __future__ import annotations

import time
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from bots.agents.page import PageClient, PageError
from bots.client.settings import DEFAULT_URL
from bots.commands.hosted_versions import (
    Versions,
    fetch_versions,
    read_version,
    read_versions,
    show_report,
    show_versions,
)
from bots.commands.owner_client import PageOption, ServerOption, TokenOption, client_of_owner
from bots.submission import explaining_absence, fetch_despite_restart
from machine.atomic_write import write_new_file
from machine.terminal import say
from protocol.display import list_choices
from protocol.errors import Fault, UsageFault, os_errors_as

POLL_INTERVAL_S = 1.0
"""Seconds between two questions whether a match is over."""
MATCH_TIMEOUT_S = 3600.0
"""Seconds for which `--wait` follows a match."""
WAIT_NOTICE_S = 5.0
"""Seconds after which `--wait` says what it waits for."""
WAIT_NOTICE = "waiting for the result: a bot that is in another match ends that one first"
"""The line that says what `--wait` waits for."""
MAX_UNKNOWN_POLLS = 5
"""Number of questions in a row after which a match that the arena does not know is given up."""
FORGOTTEN_REASON = "the arena has started again since, and no longer knows it: ask for another one"
"""The reason why a match did not start that the arena does not know."""
ALL_GAMES = "all"
"""The word for all games that a version declares."""


class _Seat(Struct, frozen=True, kw_only=True):
    """The fields of a seat in a result that this command shows."""

    bot: str
    rank: int


class _Result(Struct, frozen=True, kw_only=True):
    """The fields of a result that this command shows."""

    seats: tuple[_Seat, ...]
    plies: int


class _MatchState(Struct, frozen=True, kw_only=True):
    """The state of a match without a result: whether it waits or is in progress, and why it did not start."""

    under_way: bool = True
    why: str = ""


def hosted(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The bot.")],
    server: ServerOption = DEFAULT_URL,
    pause: Annotated[bool, typer.Option("--pause", help="Let it play no more until --resume.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Let it play again.")] = False,
    use: Annotated[int | None, typer.Option(metavar="VERSION", help="Let this version play, which passed.")] = None,
    games: Annotated[
        str | None, typer.Option(metavar="A,B|all", help="The games that it plays, of those that it was checked for.")
    ] = None,
    play: Annotated[
        str | None, typer.Option(metavar="BOT", help="Play an unrated match against it now; '' lists who takes one.")
    ] = None,
    game: Annotated[str | None, typer.Option(help="The game of --play [the only one that it plays].")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="With --play: follow the match to its end.")] = False,
    report: Annotated[int | None, typer.Option(metavar="VERSION", help="Show the report of a version.")] = None,
    publish: Annotated[int | None, typer.Option(metavar="VERSION", help="Let everybody read its source.")] = None,
    unpublish: Annotated[int | None, typer.Option(metavar="VERSION", help="Let nobody else read it.")] = None,
    source: Annotated[int | None, typer.Option(metavar="VERSION", help="Save the source of a version.")] = None,
    replay: Annotated[
        int | None, typer.Option(metavar="VERSION", help="Save the match of a version's check, of --game, as a page.")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="The new file for --source or --replay.")] = None,
    token: TokenOption = None,
    page: PageOption = None,
) -> None:
    """Show how your hosted bot runs, or change it.

    Without options: its versions, and the report of the newest check.
    """
    if pause and resume:
        raise UsageFault("--pause and --resume exclude each other: give one of them")
    if game is not None and play is None and replay is None:
        raise UsageFault("--game is for a match: name the opponent with --play, or the version with --replay")
    if wait and play is None:
        raise UsageFault("--wait follows a match: name the opponent with --play")
    if to is not None and (source is None) == (replay is None):
        raise UsageFault("--to is the file for the source or the match of a version: give --source or --replay")
    client = client_of_owner(name, server, token, page)
    query = {
        "paused": "true" if pause else "false" if resume else None,
        "version": use,
        "game": None if games is None else _read_games(games),
    }
    with explaining_absence():
        is_changed = any(value is not None for value in query.values())
        if is_changed:
            show_versions(name, read_versions(client.post(b"", "bots", name, "hosting", **query)))
        for number, published in ((publish, "true"), (unpublish, "false")):
            if number is not None:
                client.post(b"", "bots", name, "submissions", str(number), published=published)
                say(f"{name}: the source of version {number} is {'public' if published == 'true' else 'private'}")
        if source is not None:
            _save_source(client, name, source, to)
        if replay is not None:
            _save_replay(client, name, replay, game, to)
        if play is not None:
            _play(client, name, play, game, wait=wait)
    asked = (play, publish, unpublish, source, replay)
    if report is not None or not (is_changed or any(value is not None for value in asked)):
        _show(name, fetch_versions(client, name), report)


def _read_games(text: str) -> list[str]:
    """Return the games of `--games`; one that is empty stands for all."""
    return [""] if text == ALL_GAMES else [game.strip() for game in text.split(",") if game.strip()] or [text]


def _show(name: str, versions: Versions, report: int | None) -> None:
    if report is None:
        show_versions(name, versions)
    show_report(name, versions, report)


def _save_source(client: PageClient, bot: str, number: int, to: Path | None) -> None:
    """Save the source of a version in a new file: a zip, unless one source file was handed in."""
    version = read_version(client.fetch("bots", bot, "submissions", str(number)))
    content = client.download("bots", bot, "submissions", str(number), "source")
    _write(to or Path(Path(version.file).name if version.file else f"{bot}-{number}.zip"), content)


def _save_replay(client: PageClient, bot: str, number: int, game: str | None, to: Path | None) -> None:
    """Save the match of a version's check as one HTML file in a new file."""
    version = read_version(client.fetch("bots", bot, "submissions", str(number)))
    if game is None and len(version.declared_games) > 1:
        raise UsageFault(f"version {number} has a match of each game: name one of them with --game")
    chosen = game or version.declared_games[0]
    content = client.download("bots", bot, "submissions", str(number), "matches", chosen)
    _write(to or Path(f"{bot}-{number}-{chosen.replace('/', '_')}.html"), content)


def _write(path: Path, content: bytes) -> None:
    with os_errors_as(UsageFault, f"{path} can't be made, name another file with --to"):
        write_new_file(path, content)
    say(f"{path}: {len(content)} bytes")


def _play(client: PageClient, bot: str, opponent: str, game: str | None, *, wait: bool) -> None:
    told = client.post(b"", "bots", bot, "matches", opponent=opponent, game=game)
    match = told["match"] if isinstance(told, dict) else ""
    if not isinstance(match, str) or not match:
        raise PageError("the arena answers like another version: it names no match")
    where = client.url_of("matches", match)
    say(f"{bot} against {opponent}: the match starts when both are free, and is at {where}", flush=True)
    if wait:
        say(_describe_result(bot, _follow(client, bot, match)))


def _follow(client: PageClient, bot: str, match: str) -> _Result:
    """Return the result of a match, once it is over. After `WAIT_NOTICE_S`, say once what this waits for.

    Raise `Fault` if the match does not start.
    """
    began = time.monotonic()
    is_told = False
    unknown_polls = 0
    while (waited_s := time.monotonic() - began) < MATCH_TIMEOUT_S:
        if waited_s >= WAIT_NOTICE_S and not is_told:
            say(WAIT_NOTICE, flush=True)
            is_told = True
        try:
            return msgspec.convert(fetch_despite_restart(client, "matches", match, "result"), _Result)
        except msgspec.ValidationError as exc:
            raise PageError(f"the arena answers like another version: {exc}") from exc
        except PageError as fault:
            if fault.status != HTTPStatus.NOT_FOUND:
                raise
        state = _fetch_state(client, bot, match) if is_told else _MatchState()
        unknown_polls = 0 if state.under_way else unknown_polls + 1
        if why := state.why or (FORGOTTEN_REASON if unknown_polls >= MAX_UNKNOWN_POLLS else ""):
            raise Fault(f"match {match} did not start: {why}")
        time.sleep(POLL_INTERVAL_S)
    raise Fault(f"match {match} is not over after {MATCH_TIMEOUT_S:g} s: look at its page")


def _fetch_state(client: PageClient, bot: str, match: str) -> _MatchState:
    """Return whether a match waits or is in progress, and why it did not start. If the arena does not say, it waits."""
    try:
        return msgspec.convert(fetch_despite_restart(client, "bots", bot, "matches", match), _MatchState)
    except msgspec.ValidationError:
        return _MatchState()
    except PageError as fault:
        if fault.status != HTTPStatus.NOT_FOUND:  # an older arena has no such page
            raise
        return _MatchState()


def _describe_result(bot: str, result: _Result) -> str:
    mine = next((seat for seat in result.seats if seat.bot.lower() == bot.lower()), None)
    if mine is None:
        raise PageError(f"the arena answers like another version: {list_choices(seat.bot for seat in result.seats)}")
    is_shared = [seat.rank for seat in result.seats].count(mine.rank) > 1
    what = "drew" if is_shared else "won" if mine.rank == 1 else "lost"
    return f"{bot} {what} after {result.plies} plies"
