"""A bot whose connection was lost comes back, and goes on with its matches where they are."""

from __future__ import annotations

from typing import Any

import pytest

from bots.client.worker_threads import Choose, Conclude
from client_talk import FailsIn, Talk, at_its_turn, give_up, lines, of, welcomed
from machine.client.client_protocol import PrintLine, Stop
from protocol import messages
from turns import Chooses, First


def test_matches_under_way_are_told_with_the_time_to_come_back(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-3"), slots=4)
    assert talk.conversation.on_interrupt() == []
    talk.hears(script.start("m-1", away_ms=60_000))
    (said,) = talk.conversation.on_interrupt()
    assert said == PrintLine("mine: 1 match unfinished: restart the bot within 60 s to resume it", is_error=True)
    talk.hears(script.start("m-2", away_ms=2_500))
    talk.hears(script.start("m-3", away_ms=60_000))
    talk.thinks(talk.hears(script.turn("m-3")))
    (said,) = talk.conversation.on_interrupt()
    assert said == PrintLine("mine: 2 matches unfinished: restart the bot within 2.5 s to resume them", is_error=True)


def test_where_only_the_clock_ends_an_absence_that_is_what_is_told(script: Any) -> None:
    talk = welcomed(script, First("mine"))
    talk.hears(script.start("m-1", away_ms=0))
    (said,) = lines(talk.conversation.on_interrupt())
    assert said == "mine: 1 match unfinished: restart the bot before its clock ends to resume it"


def test_a_bot_whose_matches_are_assigned_says_nothing_of_coming_back(script: Any) -> None:
    talk = welcomed(script, First("mine"), assigned=True)
    talk.hears(script.start("m-1", away_ms=60_000))
    assert talk.conversation.on_interrupt() == []


def test_a_move_chosen_while_the_connection_was_down_is_sent_when_the_turn_comes_again(talk: Talk, script: Any) -> None:
    thinking = at_its_turn(talk, script)
    assert talk.conversation.handle_lost(1006) == []
    talk.thinks(thinking)
    talk.hears(script.welcome("m-1"))
    assert talk.hears(script.start(resumed=True)) == []
    (move,) = talk.hears(script.turn())
    assert isinstance(move, messages.Move)


def test_a_turn_told_again_while_it_is_being_thought_about_is_thought_about_once(talk: Talk, script: Any) -> None:
    thinking = at_its_turn(talk, script)
    talk.conversation.handle_lost(1006)
    talk.hears(script.welcome("m-1"))
    talk.hears(script.start(resumed=True))
    assert talk.hears(script.turn()) == []
    assert of(messages.Move, talk.thinks(thinking))


def test_ready_is_sent_again_only_where_no_turn_has_come(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    talk.hears(script.start())
    talk.conversation.handle_lost(1006)
    talk.hears(script.welcome("m-1"))
    assert of(messages.Ready, talk.hears(script.start(resumed=True)))
    talk.hears(script.turn())
    talk.conversation.handle_lost(1006)
    talk.hears(script.welcome("m-1"))
    assert talk.hears(script.start(resumed=True)) == []


def test_a_move_for_a_ply_that_has_passed_is_dropped(talk: Talk, script: Any) -> None:
    thinking = at_its_turn(talk, script)
    assert talk.hears(script.turn(ply=2)) == []
    (choose,) = talk.thinks(thinking)
    assert isinstance(choose, Choose)
    assert choose.turn.ply == 2


def test_a_resignation_made_while_the_connection_was_down_is_sent_later(script: Any) -> None:
    talk = Talk(Chooses(give_up))
    thinking = at_its_turn(talk, script)
    talk.conversation.handle_lost(1006)
    talk.thinks(thinking)
    talk.hears(script.welcome("m-1"))
    assert talk.hears(script.start(resumed=True)) == [messages.Resign(match="m-1")]


def test_a_match_that_ended_while_the_connection_was_down_is_dropped_and_told(talk: Talk, script: Any) -> None:
    at_its_turn(talk, script)
    talk.conversation.handle_lost(1006)
    effects = talk.hears(script.welcome())
    assert "mine: m-1 ended while the connection was down" in lines(effects)
    assert of(messages.Seek, effects)
    assert talk.hears(script.turn(ply=2)) == []


def test_a_bot_is_told_after_its_last_thought_of_a_match_that_ended_while_the_connection_was_down(script: Any) -> None:
    missed = []

    class Curious(First):
        def missed(self, match: str) -> None:
            missed.append(match)

    talk = Talk(Curious("mine"))
    thinking = at_its_turn(talk, script)
    talk.conversation.handle_lost(1006)
    assert of(Conclude, talk.hears(script.welcome())) == []
    finishing = talk.thinks(thinking)
    assert of(messages.Move, finishing) == []
    assert talk.thinks(finishing) == []
    assert missed == ["m-1"]


def test_a_match_of_an_earlier_process_holds_its_slot_and_is_played_on(talk: Talk, script: Any) -> None:
    assert of(messages.Seek, talk.hears(script.welcome("m-7"))) == []
    assert of(messages.Ready, talk.hears(script.start("m-7", resumed=True)))
    assert of(Choose, talk.hears(script.turn("m-7", ply=4)))


@pytest.mark.parametrize("code", [4000, 4001, 4003])
def test_a_close_code_that_forbids_coming_back_stops_the_bot(talk: Talk, code: int) -> None:
    said, stop = talk.conversation.handle_lost(code)
    assert isinstance(said, PrintLine)
    assert said.line.startswith("mine: ")
    assert stop == Stop(1)


@pytest.mark.parametrize("code", [1000, 1001, 1006, 1012, 4002, 4004, 4005])
def test_after_any_other_close_code_the_bot_comes_back(talk: Talk, code: int) -> None:
    assert talk.conversation.handle_lost(code) == []
