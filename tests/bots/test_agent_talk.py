"""What an agent says to the arena, message by message."""

from __future__ import annotations

from typing import Any

import pytest

from bots.agents.answers import describe_match
from bots.agents.talk import AgentProtocol
from bots.client.bot import Choice
from bots.client.talk import PrintLine, Stop
from protocol import messages
from protocol.close_codes import SUPERSEDED
from protocol.messages import Event

MOVE = {"heap": 0, "take": 1}


@pytest.fixture
def talk(script: Any) -> AgentProtocol:
    """One that plays m-1 and was told its first turn at time 100."""
    talk = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    talk.receive(script.welcome(), 99)
    sent(talk.receive(script.start(), 99))
    talk.receive(script.turn(), 100)
    return talk


def sent(effects: list[Any]) -> list[Any]:
    """What goes to the arena."""
    return [effect for effect in effects if not isinstance(effect, (PrintLine, Stop))]


def test_it_follows_the_match_and_plays_one_at_a_time() -> None:
    hello = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed").hello()
    assert (hello.bot, hello.follow, hello.slots, hello.client) == ("mine", True, 1, "bot-arena/mcp")


def test_it_is_ready_by_itself_and_moves_when_it_is_told_to(talk: AgentProtocol) -> None:
    (move,) = sent(talk.move(Choice(MOVE, note="why not")))
    assert (move.match, move.ply, move.move, move.info) == ("m-1", 0, MOVE, {"note": "why not"})
    assert talk.match is not None
    assert talk.match.open_choice is None


def test_a_move_that_was_made_without_a_connection_is_sent_when_it_is_back(talk: AgentProtocol, script: Any) -> None:
    talk.handle_lost(1006)
    assert sent(talk.move(Choice(MOVE))) == []
    talk.receive(script.welcome("m-1"), 110)
    talk.receive(script.start(resumed=True), 110)
    (move,) = sent(talk.receive(script.turn(), 110))
    assert move.move == MOVE


def test_a_match_that_was_given_up_without_a_connection_is_resigned_when_it_is_back(
    talk: AgentProtocol, script: Any
) -> None:
    talk.handle_lost(1006)
    assert sent(talk.resign()) == []
    talk.receive(script.welcome("m-1"), 110)
    assert sent(talk.receive(script.start(resumed=True), 110)) == [messages.Resign(match="m-1")]


def test_a_match_of_a_game_that_is_not_known_here_is_lost_by_a_failure(script: Any) -> None:
    talk = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    talk.receive(script.welcome(), 99)
    (resign,) = sent(talk.receive(script.start(game="go", config={}), 99))
    assert resign.match == "m-1"
    assert "'go'" in resign.failure


def test_a_match_that_ended_without_a_connection_is_over(talk: AgentProtocol, script: Any) -> None:
    talk.handle_lost(1006)
    talk.receive(script.welcome(), 110)
    assert talk.current_match is None
    assert talk.match is not None
    assert describe_match(talk.match, 110, whole_board=True).result.startswith(
        "it ended while the connection to the arena was "
    )


def test_a_match_under_way_is_awaited_from_the_welcome_to_its_start(script: Any) -> None:
    talk = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    talk.receive(script.welcome("m-1"), 0)
    assert talk.awaited == {"m-1"}
    talk.receive(script.start(resumed=True), 0)
    assert talk.awaited == set()


def test_a_seek_ends_with_the_connection(script: Any) -> None:
    talk = AgentProtocol("mine", "secret-of-sixteen", "ws://arena", "seed")
    talk.receive(script.welcome(), 0)
    talk.seek_match("nim", {}, rated=True, opponent=None, slow=False)
    talk.handle_lost(1006)
    assert (talk.seek, talk.seek_refusal) == (None, "the connection to the arena was lost: seek again")


def test_who_was_replaced_by_another_connection_stops(talk: AgentProtocol) -> None:
    assert Stop(1) in talk.handle_lost(SUPERSEDED)


def test_the_clock_of_who_is_to_move_runs(talk: AgentProtocol) -> None:
    assert talk.match is not None
    assert talk.match.clock_ms(101.5) == [58500, 60000]
    assert talk.match.clock_ms(1000) == [0, 60000]


def test_what_is_told_again_after_a_reconnect_happened_once(talk: AgentProtocol, script: Any) -> None:
    theirs = Event(ply=1, seat=1, move={"heap": 2, "take": 2})
    again = messages.Turn(**{**fields(script.turn(ply=2, heaps=(2, 5, 5))), "events": [theirs]})
    talk.move(Choice(MOVE))
    for _ in range(2):
        talk.receive(again, 120)
    assert talk.match is not None
    assert describe_match(talk.match, 120, whole_board=True).happened == ["random: 2 from heap 2"]
    assert describe_match(talk.match, 120, whole_board=True).happened == []


def test_a_move_that_the_arena_rejects_may_be_chosen_again(talk: AgentProtocol) -> None:
    talk.move(Choice(MOVE))
    talk.receive(
        messages.Rejected(match="m-1", ply=0, code="illegal_move", message="no", strikes_left=2, clock_ms=50000), 120
    )
    assert talk.match is not None
    assert talk.match.rejected is not None
    assert talk.match.open_choice is not None
    assert len(sent(talk.move(Choice(MOVE)))) == 1


def fields(turn: messages.Turn) -> dict[str, Any]:
    return {name: getattr(turn, name) for name in turn.__struct_fields__}
