"""What an agent says to the arena, message by message."""

from __future__ import annotations

from typing import Any

import pytest

from bots.agents.answers import describe_match
from bots.agents.talk import AgentProtocol
from bots.client.bot import Choice
from machine.client.client_protocol import PrintLine, Stop
from protocol import messages
from protocol.messages import Event

MOVE = {"heap": 0, "take": 1}


@pytest.fixture
def protocol(script: Any) -> AgentProtocol:
    """One that plays m-1 and was told its first turn at time 100."""
    protocol = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    protocol.receive(script.welcome(), 99)
    sent(protocol.receive(script.start(), 99))
    protocol.receive(script.turn(), 100)
    return protocol


def sent(effects: list[Any]) -> list[Any]:
    return [effect for effect in effects if not isinstance(effect, (PrintLine, Stop))]


def test_it_follows_the_match_and_plays_one_at_a_time() -> None:
    hello = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed").hello()
    assert (hello.bot, hello.follow, hello.slots, hello.client) == ("mine", True, 1, "bot-arena/mcp")


def test_it_is_ready_by_itself_and_moves_when_it_is_told_to(protocol: AgentProtocol) -> None:
    (move,) = sent(protocol.move(Choice(MOVE, note="why not")))
    assert (move.match, move.ply, move.move, move.info) == ("m-1", 0, MOVE, {"note": "why not"})
    assert protocol.match is not None
    assert protocol.match.open_choice is None


def test_a_move_that_was_made_without_a_connection_is_sent_when_it_is_back(
    protocol: AgentProtocol, script: Any
) -> None:
    protocol.handle_lost(1006)
    protocol.move(Choice(MOVE))
    protocol.receive(script.welcome("m-1"), 110)
    protocol.receive(script.start(resumed=True), 110)
    (move,) = sent(protocol.receive(script.turn(), 110))
    assert move.move == MOVE


def test_a_match_whose_config_the_rules_here_refuse_is_lost_by_a_failure(script: Any) -> None:
    protocol = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    protocol.receive(script.welcome(), 99)
    (resign,) = sent(protocol.receive(script.start(config={"stones": 5}), 99))
    assert resign.match == "m-1"
    assert "'stones'" in resign.failure


def test_a_match_that_ended_without_a_connection_is_over(protocol: AgentProtocol, script: Any) -> None:
    protocol.handle_lost(1006)
    protocol.receive(script.welcome(), 110)
    assert protocol.current_match is None
    assert protocol.match is not None
    assert describe_match(protocol.match, 110, whole_board=True).result.startswith(
        "it ended while the connection to the arena was "
    )


def test_a_seek_ends_with_the_connection(script: Any) -> None:
    protocol = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    protocol.receive(script.welcome(), 0)
    protocol.seek_match("nim", {}, rated=True, opponent=None, slow=False)
    protocol.handle_lost(1006)
    assert (protocol.seek, protocol.seek_refusal) == (None, "the connection to the arena was lost: seek again")


def test_the_clock_of_who_is_to_move_runs(protocol: AgentProtocol) -> None:
    assert protocol.match is not None
    assert protocol.match.clock_ms(101.5) == [58500, 60000]
    assert protocol.match.clock_ms(1000) == [0, 60000]


def test_what_is_told_again_after_a_reconnect_happened_once(protocol: AgentProtocol, script: Any) -> None:
    theirs = Event(ply=1, seat=1, move={"heap": 2, "take": 2})
    again = messages.Turn(**{**fields(script.turn(ply=2, heaps=(2, 5, 5))), "events": [theirs]})
    protocol.move(Choice(MOVE))
    for _ in range(2):
        protocol.receive(again, 120)
    assert protocol.match is not None
    assert describe_match(protocol.match, 120, whole_board=True).happened == ["random: 2 from heap 2"]
    assert describe_match(protocol.match, 120, whole_board=True).happened == []


def test_a_move_that_the_arena_rejects_may_be_chosen_again(protocol: AgentProtocol) -> None:
    protocol.move(Choice(MOVE))
    protocol.receive(
        messages.Rejected(match="m-1", ply=0, code="illegal_move", message="no", strikes_left=2, clock_ms=50000), 120
    )
    assert protocol.match is not None
    assert protocol.match.rejected is not None
    assert protocol.match.open_choice is not None
    assert len(sent(protocol.move(Choice(MOVE)))) == 1


def fields(turn: messages.Turn) -> dict[str, Any]:
    return {name: getattr(turn, name) for name in turn.__struct_fields__}
