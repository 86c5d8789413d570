"""A bot that is called instead of connected: its side of the protocol, with everything that is said packed and unpacked
as on a wire, so that neither side can change what the other one holds.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from bots.client.bot import Bot
from bots.client.effects import Say
from bots.client.protocol import Conversation
from bots.client.settings import Settings
from bots.client.worker_threads import Thought, Work, think
from bots.playing.alarm import Alarm, TimeUp
from protocol.codec import MSGPACK
from protocol.errors import MalformedMessage, UsageFault
from protocol.games.base import Game
from protocol.messages import (
    MAX_CLIENT_FRAME,
    MAX_STRIKES,
    SHORTEST_TOKEN,
    Error,
    FromClient,
    FromServer,
    Hello,
    Limits,
    Welcome,
)

_NO_TOKEN = "-" * SHORTEST_TOKEN
"""Nobody asks for one here."""
_LIMITS = Limits(max_message=MAX_CLIENT_FRAME, strikes=MAX_STRIKES, slots=1)


class LocalClient:
    """A bot at the referee's table, for as many matches as it plays one after the other.

    It plays as `name`; `seed` is what its choices and nonces follow from, `game` the one that it was warmed up with.
    `say` is told what its author has to know. What its code raises is raised if it `raises`; else it costs the match,
    as in an arena. Raises `UsageFault` for a name or version that no arena takes.
    """

    def __init__(
        self,
        bot: Bot,
        name: str,
        seed: str,
        game: Game[Any, Any],
        say: Callable[[str], None],
        *,
        raises: bool = False,
    ) -> None:
        self._bot = bot
        self._say = say
        self._raises = raises
        self._conversation = Conversation(bot, Settings(seed=seed, assigned=True), _NO_TOKEN, game)
        try:
            hello = MSGPACK.decode_client(MSGPACK.encode(replace(self._conversation.hello(), bot=name)))
        except MalformedMessage as fault:
            raise UsageFault(f"{name}: {fault}") from fault
        assert isinstance(hello, Hello)
        self.name = name
        self.version = hello.version
        self._conversation.receive(Welcome(games=[*bot.games], limits=_LIMITS, resumed=[]), 0.0)

    def hear(self, message: FromServer, alarm: Alarm, within: float | None = None) -> list[tuple[float, FromClient]]:
        """Tell it a message: what it says then, each with the seconds that it had thought before.

        What its code does not do `within` so many seconds it is stopped at, and says nothing.
        """
        said: list[tuple[float, FromClient]] = []
        thought_for = 0.0
        effects = deque(self._conversation.receive(MSGPACK.decode_server(MSGPACK.encode(message)), time.monotonic()))
        while effects:
            effect = effects.popleft()
            if isinstance(effect, FromClient):
                try:
                    said.append((thought_for, MSGPACK.decode_client(MSGPACK.encode(effect))))
                except MalformedMessage as fault:
                    effects.extend(self._conversation.receive(Error(code=fault.code, message=str(fault)), 0.0))
            elif isinstance(effect, Say):
                self._say(effect.line)
            elif isinstance(effect, Work):
                began = time.perf_counter()
                thought = self._think(effect, alarm, within)
                thought_for += time.perf_counter() - began
                effects.extend(self._conversation.thought(thought))
        return said

    def _think(self, work: Work, alarm: Alarm, within: float | None) -> Thought:
        try:
            with alarm.set_for(within):
                thought = think(self._bot, work)
        except TimeUp:  # it rang just as that was done
            return Thought(work)
        if isinstance(thought.cause, TimeUp):
            self._say(f"{self.name}: its time was long up in {work.match}, and it was stopped\n{thought.details}")
            return Thought(work)
        if thought.cause is not None and (self._raises or isinstance(thought.cause, KeyboardInterrupt)):
            raise thought.cause
        return thought
