"""Explains why the seeks of a bot have not become matches yet."""

from __future__ import annotations

from math import ceil

from arena.lobby.pairing import SeekPairing
from arena.lobby.roster import Roster
from arena.lobby.seeks import ActiveSeek


def explain_seek(seek: ActiveSeek, pairing: SeekPairing, roster: Roster, now: float) -> str:
    """Return in one line why a seek waits."""
    blocked = explain_blocked(seek.key, roster, now)
    delay_s = pairing.rate_wait_s(seek.key, now) if seek.is_ladder_seek else 0.0
    if blocked is not None:
        return blocked
    if delay_s:
        return f"the rate limit lets {seek.bot} start its next ladder match in {ceil(delay_s)} s"
    if seek.opponents:
        return _explain_named(seek, pairing, roster, now)
    if seek.private:
        return f"no seek for this match names {seek.bot}"
    if seek.spec.open:
        return f"no seek for {seek.spec.game} needs this open seek"
    return _explain_ladder_seek(seek, pairing, roster, now)


def explain_blocked(bot: str, roster: Roster, now: float) -> str | None:
    """Return in one line why a bot may start no match now; None if it may."""
    connected = roster.online.get(bot)
    if connected is None:
        return f"{bot} is not connected"
    if roster.capacity(bot, now):
        return None
    pause_s = roster.suspensions.pause_s(bot, connected.address, now)
    if pause_s:
        return f"{connected.name} is suspended for {ceil(pause_s)} s: it, or a new bot of its address, missed a match"
    if connected.address in roster.used_up:
        return f"the quotas of {connected.address} are used up"
    if roster.suspensions.may_start(bot, connected.address, now):
        return f"a slot of {connected.name} is reserved for an assigned match"
    return f"{connected.name}, or another new bot of its address, plays its first match"


def _explain_named(seek: ActiveSeek, pairing: SeekPairing, roster: Roster, now: float) -> str:
    group = frozenset((seek.key, *seek.opponents))
    for opponent in sorted(seek.opponents):
        if opponent not in roster.online:
            return f"{opponent} is not connected"
        answer = pairing.index.find_answer(seek.spec, opponent, group)
        if answer is None:
            return f"{opponent} has no seek for this match"
        if answer.spec.open and roster.is_at_open_limit(seek.key, opponent):
            return f"{seek.bot} plays as many matches with {opponent} as an open seek allows"
        blocked = explain_blocked(opponent, roster, now)
        if blocked is not None:
            return blocked
    return "the next pairing round is due, or too few bots seek the other seats"


def _explain_ladder_seek(seek: ActiveSeek, pairing: SeekPairing, roster: Roster, now: float) -> str:
    similar = [bot for bot in pairing.index.unnamed(seek.spec) if roster.capacity(bot, now)]
    if len(similar) >= seek.spec.seats:
        return "a match with a busy bot would tell more about the ratings: it waits a little for that"
    found = f"{len(similar)} of {seek.spec.seats} bots seek this match and may start it now"
    return f"{found}; open seeks: {len(pairing.index.open(seek.spec.game))}"
