"""The arena's messages to the bot on seat 0 of a match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from protocol import messages
from protocol.dice import Dice
from protocol.games import load_game
from protocol.games.base import Game
from protocol.messages import Event


class Script:
    """The arena's messages of matches in which `bot` sits on seat 0: of Nim unless it gets another game's rules."""

    def __init__(self, rules: Game[Any, Any] | None = None, bot: str = "mine", rival: str = "random") -> None:
        self.rules = rules or load_game("nim")
        self._bot, self._rival = bot, rival

    def welcome(self, *resumed: str, slots: int = 8, games: Sequence[str] = ("nim", "tictactoe")) -> messages.Welcome:
        limits = messages.Limits(max_message=16384, strikes=3, slots=slots)
        return messages.Welcome(bot=self._bot, games=list(games), limits=limits, resumed=list(resumed))

    def start(self, match: str = "m-1", seek: str | None = None, **fields: Any) -> messages.Start:
        rivals = [messages.Player(bot=self._rival, mu=25.0, sigma=8.3) for _ in range(1, self.rules.seats)]
        given: dict[str, Any] = {
            "game": self.rules.name,
            "config": self.rules.config,
            "seat": 0,
            "seats": [messages.Player(bot=self._bot), *rivals],
            "clock": messages.Clock(bank_ms=60000, increment_ms=500),
            "commitment": "0" * 64,
            "rated": True,
        }
        return messages.Start(match=match, seek=seek, **{**given, **fields})

    def turn(self, match: str = "m-1", ply: int = 0, heaps: tuple[int, ...] = (3, 5, 7)) -> messages.Turn:
        return self.turn_at(self.rules.decode_state({"heaps": heaps, "ply": ply, "to_move": 0}), match=match)

    def turn_at(self, position: Any, events: Sequence[Event] = (), match: str = "m-1") -> messages.Turn:
        """A position in which the bot is to move, as the bot may see it."""
        state = self.rules.view(self.rules.encode_state(position), 0)
        return messages.Turn(
            match=match,
            ply=self.rules.ply(position),
            to_move=tuple(state["to_move"]) if isinstance(state["to_move"], list) else 0,
            state=state,
            events=[self.rules.view_event(event, 0) for event in events],
            clock=[60000] * self.rules.seats,
            legal=self.rules.legal_moves_for_turn(position)[0],
            digest="0" * 64,
        )

    def rejected(self, match: str = "m-1", ply: int = 0, left: int = 2) -> messages.Rejected:
        text = "heap 0 holds 3: 9 cannot be taken"
        return messages.Rejected(
            match=match, ply=ply, code="illegal_move", message=text, strikes_left=left, clock_ms=50000
        )

    def end(self, match: str = "m-1", ranks: tuple[int, int] = (1, 2), reason: str = "win") -> messages.End:
        rating = {"mu_before": 25.0, "sigma_before": 8.3333, "mu_after": 29.3958, "sigma_after": 7.1714}
        return messages.End(
            match=match,
            ply=9,
            events=[],
            state=self.rules.encode_state(self.rules.initial(Dice(b"", 0))[0]),
            digest="0" * 64,
            ranks=list(ranks),
            reason=reason,
            seats=[
                messages.Outcome(bot=self._bot, rank=ranks[0], reason=reason, **rating),
                messages.Outcome(bot=self._rival, rank=ranks[1], reason=reason),
            ],
            seed="0" * 64,
            nonces=["", ""],
            record=f"{match}.jsonl.gz",
        )
