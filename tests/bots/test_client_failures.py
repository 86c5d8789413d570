"""A bot whose code fails, gives up or chooses what is no move loses that match, says why, and stops if it goes on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bots.client import progress_report
from bots.client.bot import GiveUp, Turn
from client_talk import FailsIn, Talk, at_its_turn, give_up, lines, of, welcomed
from machine.client.client_protocol import Effect, PrintLine, Stop
from protocol import messages
from protocol.codec import MSGPACK
from turns import Chooses, First


def test_an_error_in_the_authors_code_is_shown_and_loses_that_match_only(script: Any) -> None:
    talk = Talk(FailsIn("m-1"), slots=2)
    said, resign = talk.thinks(at_its_turn(talk, script))
    line = FailsIn.choose.__code__.co_firstlineno + 1
    failure = f"raised KeyError: 'no such key', in client_talk.py line {line}"
    assert resign == messages.Resign(match="m-1", failure=failure)
    assert isinstance(said, PrintLine)
    assert said.line.startswith("mine: its code failed at ply 0 of m-1; the match is lost\nTraceback")
    assert 'return turn.state["no such key"]' in said.line
    assert "worker_threads.py" not in said.line
    assert of(messages.Ready, talk.hears(script.start("m-2")))


def play_out(talk: Talk, script: Any, match: str, seek: str | None = None) -> list[Effect]:
    """A whole match of its seek, m-1 of s1, in which the bot chooses once; what it does at the end."""
    talk.hears(script.start(match, seek=seek or match.replace("m-", "s")))
    resigned = of(messages.Resign, talk.thinks(talk.hears(script.turn(match))))
    return talk.hears(script.end(match, ranks=(2, 1), reason="failed") if resigned else script.end(match))


STOPS = "mine: the bot stops, because its program failed in 3 matches in a row"


def test_after_three_matches_in_a_row_in_which_its_code_failed_a_bot_stops(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-3"), slots=1)
    for match in ("m-1", "m-2"):
        ended = play_out(talk, script, match)
        assert of(Stop, ended) == []
        assert STOPS not in lines(ended)
    last = play_out(talk, script, "m-3")
    assert last[-2:] == [PrintLine(STOPS, is_error=True), Stop(1)]


def test_a_bot_whose_last_three_matches_failed_ends_with_1_though_all_are_played(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-3"), slots=1, matches=3)
    ended = [play_out(talk, script, match) for match in ("m-1", "m-2", "m-3")]
    assert of(Stop, ended[-1]) == [Stop(1)]


def test_a_match_without_a_failure_begins_the_count_of_failed_ones_anew(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-4", "m-5"), slots=1)
    assert [of(Stop, play_out(talk, script, f"m-{n}")) for n in range(1, 6)] == [[]] * 5


def test_failures_are_counted_over_a_lost_connection(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-3"), slots=1)
    play_out(talk, script, "m-1")
    talk.hears(script.start("m-2", seek="s2"))
    talk.thinks(talk.hears(script.turn("m-2")))
    talk.conversation.handle_lost(1006)
    talk.hears(script.welcome())
    assert of(Stop, play_out(talk, script, "m-3")) == [Stop(1)]


def test_a_bot_that_stops_for_its_failures_plays_its_other_matches_first_and_seeks_none(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-3"), slots=3)
    talk.hears(script.start("m-9", seek="s1"))
    play_out(talk, script, "m-1", "s2")
    play_out(talk, script, "m-2", "s4")
    third = play_out(talk, script, "m-3", "s5")
    assert of(messages.Seek, third) == of(Stop, third) == []
    assert [unseek.id for unseek in of(messages.Unseek, third)] == ["s3"]
    assert of(Stop, talk.hears(messages.Unseeked(id="s3"))) == []
    assert talk.hears(script.end("m-9"))[-1] == Stop(1)


def test_a_bot_whose_matches_are_assigned_plays_them_all_whatever_fails(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2", "m-3"), slots=1, assigned=True)
    assert [play_out(talk, script, f"m-{n}") for n in range(1, 4)] == [[]] * 3


def test_a_traceback_that_was_just_told_is_told_in_a_line(script: Any) -> None:
    talk = welcomed(script, FailsIn("m-1", "m-2"), slots=1)
    told = []
    for match in ("m-1", "m-2"):
        talk.hears(script.start(match))
        told += lines(talk.thinks(talk.hears(script.turn(match))))
    line = FailsIn.choose.__code__.co_firstlineno + 1
    raised = f"raised KeyError: 'no such key', in client_talk.py line {line}"
    assert "Traceback" in told[0]
    assert told[1] == f"mine: its code failed at ply 0 of m-2 as before: {raised}; the match is lost"


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, 'choose returned None at ply 0 of m-1: a move is a map like {"heap":0,"take":1}; the match is lost'),
        ({"heap": 1j}, "choose returned {'heap': 1j} at ply 0 of m-1, which cannot be sent: "),
        ({"heap": "x" * 20000}, "choose returned a move of "),
    ],
)
def test_a_choice_that_is_no_move_is_explained(script: Any, returned: Any, says: str) -> None:
    talk = Talk(Chooses(lambda turn: returned))
    effects = talk.thinks(at_its_turn(talk, script))
    assert lines(effects)[0].startswith(f"mine: {says}")
    assert isinstance(effects[1], messages.Resign)
    assert str(effects[1].failure).startswith(says.partition(" at ply 0")[0])


@pytest.mark.parametrize("text", ["a\x1b[31m\x00b\nanother line", "x" * 1000, "\ud800"])
def test_whatever_an_exception_says_a_failure_can_be_sent(script: Any, text: str) -> None:
    def fail(turn: Turn) -> Any:
        raise ValueError(text)

    talk = Talk(Chooses(fail))
    (resign,) = of(messages.Resign, talk.thinks(at_its_turn(talk, script)))
    sent = MSGPACK.decode_client(MSGPACK.encode(resign))
    assert isinstance(sent, messages.Resign)
    assert str(sent.failure).startswith("raised ValueError: ")


def test_a_result_says_whose_program_failed_and_how(script: Any) -> None:
    talk = Talk(Chooses(lambda turn: None))
    talk.thinks(at_its_turn(talk, script))
    ended = script.end(ranks=(2, 1), reason="failed")
    ended.seats[1] = msgspec.structs.replace(ended.seats[1], reason="win")
    assert lines(talk.hears(ended))[0].startswith("mine: lost m-1 against random (choose returned None), ")
    assert progress_report.format_result(script.start(), 0, ended).startswith(
        "mine: lost m-1 against random (its program failed), "
    )
    assert progress_report.format_result(script.start(), 1, ended).startswith(
        "random: won m-1 against mine (the program of mine failed), "
    )


def test_a_bot_that_gives_up_resigns_without_a_word(script: Any) -> None:
    talk = Talk(Chooses(give_up))
    assert talk.thinks(at_its_turn(talk, script)) == [messages.Resign(match="m-1")]


def test_a_bot_that_says_why_it_gives_up_resigns_with_that_word_before_it_is_ready(script: Any) -> None:
    class Quitter(First):
        def prepare(self, start: messages.Start) -> None:
            raise GiveUp("no table for this map")

    talk = welcomed(script, Quitter("mine"))
    told, resigned = talk.thinks(talk.hears(script.start()))
    assert lines([told]) == ["mine: no table for this map; the match is resigned"]
    assert resigned == messages.Resign(match="m-1")
