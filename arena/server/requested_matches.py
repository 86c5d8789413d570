"""Matches that the owners of hosted bots ask for: their bot against another one, now.

Such a match is unrated. It starts when both bots have a free slot, and is stored like a match of the lobby.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from arena.host.host import MatchHost
from arena.lobby.events import MatchAssigned, MatchNotBegun
from arena.lobby.seeks import MatchSpec, match_spec_of
from arena.operator.hosting import RequestedMatchState
from arena.server.lobby_runner import LobbyRunner
from arena.server.match_headers import MatchHeaders
from machine.event_loop import BackgroundTasks
from machine.keyed_limiter import KeyedLimiter, TokenBucket
from protocol.dice import SEED_BYTES
from protocol.display import list_first
from protocol.errors import ArenaFault, Fault, UsageFault
from protocol.games import check_offered, shared_game
from protocol.names import fold_name

REQUEST_BURST, REQUESTS_PER_HOUR = 10, 60
"""The number of matches that the owner of a bot may ask for at once, and in an hour."""
MAX_FAILURES_KEPT = 1000
"""Maximum number of matches that did not start of which the reason is kept."""
RECONNECT_TIMEOUT_S = 60.0
"""Seconds for which a match waits for a bot that has lost its connection meanwhile. Then it does not start."""

log = logging.getLogger("arena.hosting")


class RequestedMatches:
    """The matches that owners asked for. A hosted bot plays one at a time, so that it plays on the ladder too."""

    def __init__(
        self, host: MatchHost, runner: LobbyRunner, headers: MatchHeaders, background: BackgroundTasks
    ) -> None:
        self._host = host
        self._runner = runner
        self._headers = headers
        self._limiter = KeyedLimiter(TokenBucket(REQUEST_BURST, REQUESTS_PER_HOUR / 3600))
        self._waiting: set[str] = set()
        """The ids of the matches that wait for their bots."""
        self._bots: dict[str, tuple[str, ...]] = {}
        """The folded names of the bots of each match that waits or is in progress, by id."""
        self._failures: dict[str, str] = {}
        """The reasons for which the newest `MAX_FAILURES_KEPT` matches that did not start did not, by id."""
        self._background = background

    def request(self, bot: str, opponent: str, game: str, plays: Callable[[str, str], bool]) -> str:
        """Start a match of two bots as soon as both are free, and return its id. Raise `UsageFault` if it is refused.

        `plays(bot, game)` says whether a hosted bot runs and plays a game: it takes every match. Another opponent must
        seek openly.
        """
        check_offered(game)
        rules = shared_game(game, {})
        pair = fold_name(bot), fold_name(opponent)
        now = self._host.clients.now()
        spec = match_spec_of(rules, rated=False)
        choices = partial(self._describe_choices, bot, spec, plays)
        self._check_online(bot, opponent, choices)
        if rules.seats != 2:
            raise UsageFault(f"{game} has {rules.seats} seats: a match can be asked for in games of two")
        self._check_free(bot)
        if plays(opponent, game):
            self._check_free(opponent)
        elif not self._seeks_openly(pair[1], spec):
            raise UsageFault(f"{opponent} takes no match of {game} now: {choices()}")
        if wait_s := self._limiter.take(pair[0], now):
            raise UsageFault(f"{bot} has asked for {REQUESTS_PER_HOUR} matches an hour: try again in {wait_s:.0f} s")
        match = f"{datetime.now(UTC):%y%m%d-%H%M%S}-{secrets.token_hex(4)}"
        self._waiting.add(match)
        self._bots[match] = pair
        names = tuple(self._host.clients.sessions[key].bot or key for key in pair)
        start = partial(self._start, match, game, names)
        self._runner.assign(MatchAssigned(match, pair, RECONNECT_TIMEOUT_S), start)
        log.info("match %s was asked for: %s in %s", match, " against ".join(names), game)
        return match

    def state_of(self, match: str) -> RequestedMatchState:
        """Return whether a match waits or is in progress, and why it did not start."""
        under_way = match in self._waiting or match in self._host.clients.runners
        return RequestedMatchState(under_way=under_way, why=self._failures.get(match, ""))

    def _check_online(self, bot: str, opponent: str, choices: Callable[[], str]) -> None:
        """Raise `UsageFault` unless two different bots are connected, and the opponent is no person."""
        if fold_name(bot) == fold_name(opponent):
            raise UsageFault("a bot does not play itself: name another opponent")
        if self._host.clients.session_of(bot) is None:
            raise UsageFault(f"{bot} does not run now: it is paused, waits for a runner, or has not passed its check")
        session = self._host.clients.session_of(opponent)
        if session is None:
            raise UsageFault(f"{opponent} is not online: {choices()}" if opponent else f"name an opponent: {choices()}")
        if session.is_person:
            raise UsageFault(f"{opponent} is a person: let your bot play bots")

    def _describe_choices(self, bot: str, spec: MatchSpec, plays: Callable[[str, str], bool]) -> str:
        """Return the end of a sentence about the opponents that take a match of a bot now."""
        online = {key: session.bot for key, session in self._host.clients.sessions.items() if not session.is_person}
        takers = [
            name
            for key, name in online.items()
            if name and key != fold_name(bot) and (plays(name, spec.game) or self._seeks_openly(key, spec))
        ]
        if not takers:
            return f"no other bot takes a match of {spec.game} now"
        return f"these take a match of {spec.game} now: {list_first(sorted(takers))}"

    def _seeks_openly(self, bot: str, spec: MatchSpec) -> bool:
        seeks = self._runner.lobby.seeks_of(bot)
        return any(seek.spec.open and seek.spec.game == spec.game and seek.accepts(spec) for seek in seeks)

    def _check_free(self, bot: str) -> None:
        """Raise `UsageFault` if a bot has a match that was asked for, and that is not over."""
        ended = self._bots.keys() - self._waiting - self._host.clients.runners.keys()
        for match in ended:
            del self._bots[match]
        if any(fold_name(bot) in bots for bots in self._bots.values()):
            raise UsageFault(f"{bot} has a match that was asked for already: try again when it is over")

    def _start(self, match: str, game: str, bots: Sequence[str], absent: Sequence[int]) -> None:
        self._background.start(self._start_prepared(match, game, bots, absent))

    async def _start_prepared(self, match: str, game: str, bots: Sequence[str], absent: Sequence[int]) -> None:
        """Start a match, after an isolated game was asked about its config. It does not start without a bot."""
        try:
            if absent:
                raise ArenaFault(f"{bots[absent[0]]} has gone offline")
            if self._host.rules.must_prepare(game, {}):
                await self._host.rules.prepare(game, {})
            seed = secrets.token_bytes(SEED_BYTES)
            seats = list(bots) if secrets.randbits(1) else list(bots)[::-1]
            self._host.start_match(self._headers.make(match, shared_game(game, {}), seats, seed, pool=None), seed)
        except Exception as exc:
            log.warning("match %s, which was asked for, does not start: %s", match, exc)
            self._failures[match] = str(exc) if isinstance(exc, Fault) else "the server's log says why"
            if len(self._failures) > MAX_FAILURES_KEPT:
                del self._failures[next(iter(self._failures))]
            self._runner.feed(MatchNotBegun(match))
        finally:
            self._waiting.discard(match)
