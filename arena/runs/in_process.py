"""Matches between bots in this process, without sockets. An entry point provides the code that makes the bots."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any

from msgspec.structs import replace

from arena.ratings.tournament_pairing import Pairing
from arena.runs.contestants import Contestant
from arena.runs.job import MAX_LOG_BYTES, MatchJob, MatchReport, append_to_log
from machine.log_output import log_fields
from machine.timestamps import utc_now
from protocol.bot_launch import PLAYER_ENTRY_POINT_GROUP, BotSpec
from protocol.errors import RulesFault, UsageFault
from protocol.games.base import Game
from referee.called_off import call_off_match
from referee.in_process import InProcessPlayers

log = logging.getLogger("arena.runs")


def check_bots(contestants: Sequence[Contestant], game: Game[Any, Any], *, strict: bool = True) -> Mapping[str, str]:
    """Check the contestants that can play in this process, by making each. Return the contestants whose file is faulty,
    with reasons.

    Raise `UsageFault` if a contestant cannot be made for another reason, or does not play the game. If `strict`, raise
    it for a faulty file, too.
    """
    return {**make_players([one.spec for one in contestants if one.spec is not None], game, strict=strict).failed_bots}


class InProcessHost:
    """The bots of a job, which play its matches in this process. The constructor raises the errors of `check_bots`."""

    def __init__(self, job: MatchJob) -> None:
        self._job = job
        plan = job.plan
        specs = [replace(one.spec, seed=plan.bot_seed(one.name)) for one in plan.contestants if one.spec is not None]
        self._words: list[tuple[str, bytes]] = []
        self._players = make_players(specs, plan.rules, self._write_line, strict=job.strict)

    def play(self, pairing: Pairing) -> MatchReport:
        """Play a match. It is void if the rules of its game fail. Raise `Fault` if a bot cannot go on."""
        header, seed = self._job.plan.header_of(pairing, utc_now(), lambda bot: "")
        try:
            closed = self._players.play(header, seed)
        except RulesFault as fault:
            log.error("match %s is void: %s", header.match, fault, extra=log_fields(match=header.match))
            closed = call_off_match(header, seed, utc_now())
        words, self._words = tuple(self._words), []
        failing = self._players.failed_bots
        absent = {seat: failing[bot] for seat, bot in enumerate(pairing.seats) if bot in failing}
        failures = {**closed.failures, **absent}
        return MatchReport(closed, failures=failures, output=words)

    def _write_line(self, bot: str, line: str) -> None:
        words = f"{line}\n".encode(errors="replace")
        if self._job.sources is None:
            append_to_log(self._job.logs, bot, words)
        else:
            self._words.append((bot, words[-MAX_LOG_BYTES:]))


def make_players(
    specs: Sequence[BotSpec],
    game: Game[Any, Any],
    on_message: Callable[[str, str], None] = lambda bot, line: None,
    *,
    strict: bool,
) -> InProcessPlayers:
    """Make bots that play in this process. `on_message` receives a bot's name and a message for its author.

    Raise `UsageFault` if a bot cannot be made or does not play the game; see `InProcessPlayers` for `strict`.
    """
    offers = entry_points(group=PLAYER_ENTRY_POINT_GROUP)
    if not offers:
        raise UsageFault(
            f"no installed package can play bots in process: none has an entry point in {PLAYER_ENTRY_POINT_GROUP}"
        )
    players: InProcessPlayers = next(iter(offers)).load()(specs, game, on_message, strict=strict)
    return players
