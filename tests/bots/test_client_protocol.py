"""The client's core in memory: messages and thoughts in, effects out."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bots.client.bot import Choice
from bots.client.worker_threads import Choose, Conclude
from client_talk import Talk, at_its_turn, lines, of, welcomed
from machine.client.client_protocol import PrintLine, Stop
from protocol import messages
from protocol.codec import MSGPACK
from turns import Chooses, First


def test_hello_carries_name_token_version_and_slots() -> None:
    hello = Talk(First("mine", "1.2"), slots=4).conversation.hello()
    assert (hello.bot, hello.token, hello.version, hello.slots) == ("mine", "t" * 20, "1.2", 4)


def test_the_nonce_follows_from_the_seed_the_seat_and_the_match(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    (ready,) = of(messages.Ready, talk.hears(script.start("m-9")))
    assert ready.nonce == hmac.new(b"7/seat-0", b"nonce/m-9", hashlib.sha256).digest()[:16].hex()


def test_a_seed_that_is_assigned_with_the_matches_is_the_bots_own_and_is_taken_as_it_is(script: Any) -> None:
    talk = welcomed(script, First("mine"), assigned=True)
    (ready,) = of(messages.Ready, talk.hears(script.start("m-9")))
    assert ready.nonce == hmac.new(b"7", b"nonce/m-9", hashlib.sha256).digest()[:16].hex()


def test_two_bots_of_one_seed_in_two_seats_of_a_match_have_chances_of_their_own(script: Any) -> None:
    nonces, drawn = [], []
    for seat in range(2):
        talk = welcomed(script, First(f"bot-{seat}"))
        (ready,) = of(messages.Ready, talk.hears(replace(script.start(seek="s1"), seat=seat)))
        turn = script.turn()
        (choose,) = of(Choose, talk.hears(replace(turn, to_move=seat, state={**turn.state, "to_move": seat})))
        nonces.append(ready.nonce)
        drawn.append([choose.turn.random.random() for _ in range(4)])
    assert nonces[0] != nonces[1]
    assert not set(drawn[0]) & set(drawn[1])


def test_without_a_seed_the_nonces_of_two_bots_differ(script: Any) -> None:
    nonces = set()
    for _ in range(2):
        talk = welcomed(script, First("mine"), seed=None)
        nonces |= {ready.nonce for ready in of(messages.Ready, talk.hears(script.start()))}
    assert len(nonces) == 2


def test_a_turn_is_thought_about_and_answered(talk: Talk, script: Any) -> None:
    answer = talk.thinks(at_its_turn(talk, script))
    assert answer == [messages.Move(match="m-1", ply=0, move={"heap": 0, "take": 1})]


def test_turn_random_is_the_same_for_the_same_seed_match_and_ply(script: Any) -> None:
    drawn = []
    for _ in range(2):
        (choose,) = at_its_turn(Talk(First("mine")), script)
        assert isinstance(choose, Choose)
        drawn.append(choose.turn.random.random())
    assert drawn[0] == drawn[1]


def test_matches_keep_their_memories_apart_and_share_the_rules(script: Any) -> None:
    talk = welcomed(script, First("mine"), slots=2)
    turns = []
    for match in ("m-1", "m-2"):
        talk.hears(script.start(match))
        (choose,) = talk.hears(script.turn(match))
        assert isinstance(choose, Choose)
        turns.append(choose.turn)
    turns[0].memory["seen"] = 1
    assert turns[1].memory == {}
    assert turns[0].rules is turns[1].rules


def test_memory_lasts_from_turn_to_turn(talk: Talk, script: Any) -> None:
    (first,) = at_its_turn(talk, script)
    assert isinstance(first, Choose)
    first.turn.memory["plan"] = "left"
    talk.thinks([first])
    (second,) = talk.hears(script.turn(ply=2))
    assert isinstance(second, Choose)
    assert second.turn.memory == {"plan": "left"}


def test_what_a_bot_thought_of_its_move_travels_as_info(script: Any) -> None:
    talk = Talk(Chooses(lambda turn: Choice(turn.legal[0], value=float("inf"), depth=3, nodes=99, note="n" * 300)))
    said, move = talk.thinks(at_its_turn(talk, script))
    assert isinstance(move, messages.Move)
    assert move.info == {"depth": 3, "nodes": 99, "note": "n" * 256}
    assert lines([said]) == [
        "mine: part of the info of its move at ply 0 of m-1 is dropped: "
        "value is of type float: a finite number (ValueError)"
    ]
    (second,) = talk.thinks(talk.hears(script.turn(ply=2)))
    assert second.info == move.info, "it is said once a match"


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("thinking", "says"),
    [
        ({"nodes": 2**64}, "nodes is of type int: an integer from 0, of 64 bits at most"),
        ({"nodes": 10**5000}, "nodes is of type int: an integer from 0, of 64 bits at most"),
        ({"depth": -1}, "depth is -1: an integer from 0"),
        ({"depth": "deep"}, "depth is of type str: an integer from 0"),
        ({"depth": float("inf")}, "depth is of type float: an integer from 0"),
        ({"value": float("nan")}, "value is of type float: a finite number"),
        ({"value": [1]}, "value is of type list: a finite number"),
        ({"value": 10**400}, "value is of type int: a finite number"),
        ({"note": "a\x1b[2J"}, "note is 'a\\x1b[2J': at most 256 characters"),
        ({"note": "\ud800"}, "note is"),
        ({"note": Unreadable()}, "note is of type Unreadable: a text of 256 characters"),
    ],
)
def test_thinking_that_cannot_be_kept_leaves_the_move_standing_and_is_told(
    script: Any, thinking: dict[str, Any], says: str
) -> None:
    talk = Talk(Chooses(lambda turn: Choice(turn.legal[0], **thinking)))
    said, move = talk.thinks(at_its_turn(talk, script))
    assert move == messages.Move(match="m-1", ply=0, move={"heap": 0, "take": 1})
    assert f"is dropped: {says}" in lines([said])[0]
    assert MSGPACK.decode_client(MSGPACK.encode(move)) == move


def test_a_rejected_move_is_explained_and_chosen_again(talk: Talk, script: Any) -> None:
    talk.thinks(at_its_turn(talk, script))
    said, again = talk.hears(script.rejected())
    assert said == PrintLine(
        'mine: move {"heap": 0, "take": 1} rejected at ply 0 of m-1: '
        "heap 0 holds 3: 9 cannot be taken (2 strikes left)",
        is_error=True,
    )
    assert isinstance(again, Choose)
    assert again.rejected == script.rejected()
    assert again.turn.clock_ms == [50000, 60000]


def test_nothing_is_chosen_after_the_last_strike_or_for_a_ply_that_has_passed(talk: Talk, script: Any) -> None:
    talk.thinks(at_its_turn(talk, script))
    assert of(Choose, talk.hears(script.rejected(left=0))) == []
    stale = messages.Rejected(match="m-1", ply=0, code="stale_ply", message="ply 0 has passed")
    assert lines(talk.hears(stale)) == ['mine: move {"heap": 0, "take": 1} rejected at ply 0 of m-1: ply 0 has passed']
    assert of(Choose, talk.hears(stale)) == []


def test_a_bot_that_prepares_is_ready_when_it_has_prepared(script: Any) -> None:
    class Careful(First):
        def prepare(self, start: messages.Start) -> None:
            self.prepared = start.match

    bot = Careful("mine")
    talk = welcomed(script, bot)
    effects = talk.hears(script.start())
    assert of(messages.Ready, effects) == []
    assert of(messages.Ready, talk.thinks(effects))
    assert bot.prepared == "m-1"


def test_the_end_of_a_match_is_told_to_the_bot_after_its_last_thought(script: Any) -> None:
    ended = []

    class Curious(First):
        def ended(self, end: messages.End) -> None:
            ended.append(end.match)

    talk = Talk(Curious("mine"), matches=1)
    thinking = at_its_turn(talk, script)
    assert of(Conclude, talk.hears(script.end(reason="timeout", ranks=(2, 1)))) == []
    finishing = talk.thinks(thinking)
    assert of(messages.Move, finishing) == []
    assert talk.thinks(finishing) == [Stop(0)]
    assert ended == ["m-1"]


@pytest.mark.parametrize(
    ("ranks", "reason", "line"),
    [
        ((1, 2), "win", "mine: won m-1 against random, rating 25.0 ± 25.0 -> 29.4 ± 21.5"),
        ((2, 1), "timeout", "mine: lost m-1 against random (timeout), rating 25.0 ± 25.0 -> 29.4 ± 21.5"),
        ((1, 1), "draw", "mine: drew m-1 against random, rating 25.0 ± 25.0 -> 29.4 ± 21.5"),
    ],
)
def test_every_result_is_one_line(talk: Talk, script: Any, ranks: tuple[int, int], reason: str, line: str) -> None:
    at_its_turn(talk, script)
    assert lines(talk.hears(script.end(ranks=ranks, reason=reason))) == [line]


def test_where_payoffs_are_the_result_they_are_told_ones_own_first(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    players = [messages.Player(bot="random"), messages.Player(bot="mine")]
    talk.hears(script.start(seek="s1", game="dilemma", config={}, seat=1, seats=players, rated=False))
    end = script.end(ranks=(2, 1))
    seats = [
        messages.Outcome(bot=bot, rank=rank, reason="win", payoff=payoff, rounds=200)
        for bot, rank, payoff in (("random", 2, 2.985), ("mine", 1, 3.01))
    ]
    assert lines(talk.hears(replace(end, seats=seats)))[0] == (
        "mine: won m-1 against random, 3.010 to 2.985 a round, unrated"
    )


def test_a_bot_that_dropped_out_of_three_seeks_the_next_match(talk: Talk, script: Any) -> None:
    seats = [messages.Player(bot=bot) for bot in ("mine", "a", "b")]
    talk.hears(script.welcome())
    talk.hears(script.start(seats=seats, seek="s1"))
    out = messages.Outcome(bot="mine", rank=3, reason="timeout")
    others = [messages.Outcome(bot=bot, rank=1, reason="win") for bot in ("a", "b")]
    end = msgspec.structs.replace(script.end(reason="timeout"), ranks=[3, 1, 1], seats=[out, *others], seed=None)
    effects = talk.hears(end)
    assert lines(effects) == ["mine: came 3rd of 3 in m-1 against a, b (timeout), the others are still playing"]
    assert of(messages.Seek, effects)


def test_places_among_many_and_unrated_or_void_matches_are_told(talk: Talk, script: Any) -> None:
    players = [messages.Player(bot=name) for name in ("mine", "a", "b")]
    outcomes = [messages.Outcome(bot=name, rank=rank, reason="win") for name, rank in (("mine", 2), ("a", 1), ("b", 3))]
    end = msgspec.structs.replace(script.end(), ranks=[2, 1, 3], seats=outcomes)
    talk.hears(script.welcome())
    talk.hears(script.start(seats=players))
    assert lines(talk.hears(end)) == ["mine: came 2nd of 3 in m-1 against a, b, unrated"]
    talk.hears(script.start(seats=players))
    void = msgspec.structs.replace(end, reason="void")
    assert lines(talk.hears(void)) == ["mine: had no result in m-1 against a, b (void), unrated"]


def test_a_refused_name_stops_the_bot_with_advice(talk: Talk) -> None:
    error = messages.Error(code="name_taken", message="the name mine is taken", fatal=True)
    assert talk.hears(error) == [
        PrintLine(
            "mine: the name mine is taken (name_taken); "
            "choose another name with --name, or give the token with --token or ARENA_TOKEN",
            is_error=True,
        ),
        Stop(1),
    ]


def test_other_errors_are_told_and_the_bot_plays_on(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    effects = talk.hears(messages.Error(code="bad_message", message="info: note is too long", ref="m-1"))
    assert effects == [PrintLine("mine: info: note is too long (bad_message)", is_error=True)]


def test_a_match_whose_config_the_rules_here_refuse_is_lost(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    effects = talk.hears(script.start(config={"stones": 5}))
    assert isinstance(effects[-1], messages.Resign)
    assert "nim has no config key 'stones'" in str(effects[-1].failure)
    assert "nim has no config key 'stones'" in lines(effects)[0]


def test_messages_of_types_unknown_to_this_version_are_ignored(talk: Talk) -> None:
    assert talk.conversation.receive(None, 0.0) == []
