"""`arena pairing`: says from a pairing log when a bot was paired, and why its seeks waited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from arena.lobby import events
from arena.lobby.effects import LobbyEffect, StartMatch, Tell
from arena.lobby.events import LobbyEvent
from arena.lobby.lobby import Lobby
from arena.lobby.log import LobbyLogStart, decode_start, encode_line, replay
from arena.lobby.policy import LobbyPolicy
from machine.source_digest import digest_of_all
from machine.terminal import say
from machine.timestamps import parse_timestamp, utc_now
from protocol.display import escape_unprintable, format_count
from protocol.errors import ArenaFault, UsageFault, os_errors_as
from protocol.messages import Error
from protocol.names import fold_name

LOG_NAME, FORMER_LOG_NAME = "pairing.log", "pairing.log.1"
"""The names of the pairing log in a data folder, and of the log of the start before."""


def log_file(data: Path) -> Path:
    """Return the path of the pairing log of a data folder."""
    return data / LOG_NAME


def open_log(data: Path, policy: LobbyPolicy, now: float) -> BinaryIO:
    """Begin a new pairing log in a data folder. The one before gets another name. Raise `ArenaFault`."""
    file = log_file(data)
    with os_errors_as(ArenaFault, f"the pairing log {file} can't be written"):
        if file.exists():
            file.replace(data / FORMER_LOG_NAME)
        log: BinaryIO = file.open("xb", buffering=0)
        log.write(encode_line(LobbyLogStart(digest_of_all(), policy, utc_now(), now)))
    return log


def pairing(bot: str, file: Path) -> None:
    """Print what a pairing log tells of a bot. Raise `UsageFault` or `ArenaFault`."""
    with os_errors_as(UsageFault, f"the pairing log {file} can't be read (arena serve --pairing-log writes one)"):
        lines = file.read_bytes().splitlines()
    try:
        start = decode_start(lines[0])
    except (IndexError, msgspec.MsgspecError):
        raise UsageFault(f"{file} is no pairing log: arena serve --pairing-log writes one") from None
    if start.sources != digest_of_all():
        raise UsageFault(f"{file} was written by another version of bot-arena, which may pair bots otherwise: use that")
    said = False
    try:
        for now, text in timeline(lines[1:], Lobby(start.policy), fold_name(bot)):
            at = datetime.fromtimestamp(parse_timestamp(start.at) + now - start.now, UTC)
            said = True
            say(escape_unprintable(f"{at:%Y-%m-%d %H:%M:%S}  {text}"))
    except msgspec.MsgspecError as exc:
        raise ArenaFault(f"{file} ends with a line that can't be read: {exc}") from None
    if not said:
        raise ArenaFault(f"{file} does not mention {bot}")


def timeline(lines: Iterable[bytes], lobby: Lobby, bot: str) -> Iterator[tuple[float, str]]:
    """Yield what happened to a bot, given by its folded name, with the times. A reason for which its seeks wait is
    yielded when it changes; numbers in it do not count.
    """
    reasons: set[str] = set()
    for entry, effects in replay(lines, lobby):
        told = _describe_event(entry.event, bot)
        if told is not None:
            yield entry.now, told
        for effect in effects:
            told = _describe_effect(effect, bot)
            if told is not None:
                yield entry.now, told
        waiting = lobby.explain(bot, entry.now) if isinstance(entry.event, events.Tick) else {}
        found = {re.sub(r"\d+", "#", reason): reason for reason in waiting.values()}
        for kind in found.keys() - reasons:
            yield entry.now, f"waits: {found[kind]}"
        if isinstance(entry.event, events.Tick):
            reasons = set(found)


def _describe_event(event: LobbyEvent, bot: str) -> str | None:
    match event:
        case events.BotJoined() if fold_name(event.bot) == bot:
            return f"connected from {event.address}, with {format_count(event.slots, 'slot', 'slots')}"
        case events.BotLeft(bot=name) if name == bot:
            return "disconnected"
        case events.SeekPlaced(bot=name, seek=seek) if name == bot:
            return f"seeks {'an open match' if seek.open else 'a match'} of {seek.game}"
        case events.SeekWithdrawn(bot=name) if name == bot:
            return "withdraws a seek"
        case events.SeatReleased(bot=name, missed=True) if name == bot:
            return f"missed the match {event.match}"
    return None


def _describe_effect(effect: LobbyEffect, bot: str) -> str | None:
    match effect:
        case StartMatch(bots=bots) if bot in map(fold_name, bots):
            return f"starts the match {effect.match} of {effect.spec.game}: {', '.join(bots)}"
        case Tell(bot=name, message=Error() as error) if name == bot:
            return f"is told: {error.message}"
    return None
