"""The isolated games of a host: a process for each, and what is known of their configs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import msgspec

from arena.host.rules_process import RulesProcess
from protocol.errors import RulesFault
from protocol.games import game_class, share_game
from protocol.games.isolated import Answers, IsolatedGame, load_question, value_of

MAX_KEPT_CONFIGS = 4096
"""Maximum number of configs that are kept, with as many seeks and matches."""

_pack = msgspec.msgpack.Encoder(order="deterministic").encode


class RulesIsolation:
    """Isolated games. Each has a process, whose answers take at most `call_timeout_s` seconds."""

    def __init__(self, call_timeout_s: float) -> None:
        self._call_timeout_s = call_timeout_s
        self._processes: dict[str, RulesProcess] = {}
        self._games: OrderedDict[tuple[str, bytes], IsolatedGame] = OrderedDict()
        """The games that were prepared, by name and config, the latest last."""

    def is_prepared(self, game: str, config: Mapping[str, Any]) -> bool:
        return (game, _pack(config)) in self._games

    async def prepare(self, game: str, config: Mapping[str, Any]) -> None:
        """Learn what the lobby and the referee have to know of a config. Raise `BadConfig` or `RulesFault`."""
        question = load_question(config)
        answers = await self.ask(game, config, question)
        made = IsolatedGame(game_class(game), value_of(game, answers[question]))
        for key in (config, made.config):
            share_game(game, key, made)
            self._games[game, _pack(key)] = made
            self._games.move_to_end((game, _pack(key)))
        while len(self._games) > MAX_KEPT_CONFIGS:
            self._games.popitem(last=False)

    def game_for_match(self, game: str, config: Mapping[str, Any]) -> IsolatedGame:
        """Return the rules for one match. Raise `RulesFault` if the config was not prepared."""
        made = self._games.get((game, _pack(config)))
        if made is None:
            raise RulesFault(game, "their process was not asked about this config")
        return made.for_match()

    async def ask(self, game: str, config: Mapping[str, Any], question: bytes) -> Answers:
        """Return the answers of a game's process. Raise `RulesFault` if it does not answer."""
        process = self._processes.get(game)
        if process is None:
            process = self._processes[game] = RulesProcess(game, self._call_timeout_s)
        return await process.ask(config, question)

    async def close(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            await process.close()
