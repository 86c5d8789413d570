"""A conversation of a bot's client with an arena, in memory: messages and thoughts in, effects out."""

from __future__ import annotations

from typing import Any

from bots.client.bot import Bot, GiveUp, Turn
from bots.client.conversation import Conversation
from bots.client.settings import Settings
from bots.client.worker_threads import Choose, Conclude, Prepare, do_work
from machine.client.client_protocol import Effect, PrintLine
from protocol import messages


class Talk:
    """A conversation with its bot thinking on the spot when told to."""

    def __init__(self, bot: Bot, **settings: Any) -> None:
        self.bot = bot
        self.conversation = Conversation(bot, Settings(**{"seed": "7", **settings}), "t" * 20)

    def hears(self, message: messages.FromServer) -> list[Effect]:
        return self.conversation.receive(message, 0.0)

    def thinks(self, effects: list[Effect]) -> list[Effect]:
        work = next(e for e in effects if isinstance(e, Choose | Prepare | Conclude))
        return self.conversation.handle_result(do_work(self.bot, work))


class FailsIn(Bot):
    """One whose code fails in the matches of these names."""

    def __init__(self, *matches: str) -> None:
        super().__init__("mine")
        self.matches_failed = matches

    def choose(self, turn: Turn) -> Any:
        return turn.state["no such key"] if turn.match in self.matches_failed else turn.legal[0]


def give_up(turn: Turn) -> Any:
    raise GiveUp


def lines(effects: list[Effect]) -> list[str]:
    return [effect.line for effect in effects if isinstance(effect, PrintLine)]


def of(kind: type[Any], effects: list[Effect]) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


def welcomed(script: Any, bot: Bot, **settings: Any) -> Talk:
    talk = Talk(bot, **settings)
    talk.hears(script.welcome())
    return talk


def at_its_turn(talk: Talk, script: Any) -> list[Effect]:
    talk.hears(script.welcome())
    talk.hears(script.start(seek="s1"))
    return talk.hears(script.turn())
