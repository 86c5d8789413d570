"""A duel as an agent is told of it, without an arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bots.agents.talk import AgentMatch, AgentProtocol
from protocol import messages
from protocol.games.base import Game
from protocol.messages import Event


def turn_of(
    rules: Game[Any, Any], state: dict[str, Any], events: Sequence[Event] = (), match: str = "m-1"
) -> messages.Turn:
    """The turn of seat 0 in a state, as it travels."""
    position = rules.decode_state(state)
    return messages.Turn(
        match=match,
        ply=state["ply"],
        to_move=tuple(state["to_move"]) if isinstance(state["to_move"], list) else 0,
        state=rules.encode_state(position),
        events=list(events),
        legal=rules.legal_moves_for_turn(position)[0],
        clock=[60000, 60000],
        digest="0" * 64,
    )


def told(rules: Game[Any, Any], preset: str, rival: str, first: messages.Turn) -> tuple[AgentProtocol, AgentMatch]:
    """An agent in seat 0 of a duel under this preset whose first turn it was told."""
    start = messages.Start(
        match=first.match,
        game=rules.name,
        preset=preset,
        config=rules.config,
        seat=0,
        seats=[messages.Player(bot="model"), messages.Player(bot=rival)],
        clock=messages.Clock(bank_ms=60000, increment_ms=500),
        commitment="0" * 64,
        rated=True,
    )
    talk = AgentProtocol("model", "t" * 16, "ws://arena", "seed")
    talk.receive(start, 0)
    talk.receive(first, 0)
    assert talk.match is not None
    return talk, talk.match
