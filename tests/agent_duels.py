"""A match as an agent is told of it, without an arena."""

from __future__ import annotations

from typing import Any

from bots.agents.talk import AgentMatch, AgentProtocol
from match_script import Script
from protocol import messages
from protocol.games.base import Game


def told(rules: Game[Any, Any], preset: str, rival: str, first: messages.Turn) -> tuple[AgentProtocol, AgentMatch]:
    """An agent in seat 0 of a match under this preset whose first turn it was told."""
    talk = AgentProtocol("model", "t" * 16, "ws://arena", "seed")
    talk.receive(Script(rules, "model", rival).start(first.match, preset=preset), 0)
    talk.receive(first, 0)
    assert talk.match is not None
    return talk, talk.match


def turn_of(rules: Game[Any, Any], state: dict[str, Any], *events: messages.Event, match: str = "m-1") -> messages.Turn:
    return Script(rules).turn_at(rules.decode_state(state), events, match)
