"""The client's core in memory: messages and thoughts in, effects out."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from bots.client import progress_report
from bots.client.bot import Bot, Choice, GiveUp, Turn
from bots.client.conversation import Conversation, ScheduleSeek
from bots.client.settings import Settings
from bots.client.worker_threads import Choose, Conclude, Prepare, do_work
from machine.client.client_protocol import Effect, PrintLine, ScheduleListing, Stop
from protocol import messages
from protocol.codec import MSGPACK
from turns import Chooses, First


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


def lines(effects: list[Effect]) -> list[str]:
    return [effect.line for effect in effects if isinstance(effect, PrintLine)]


def of(kind: type[Any], effects: list[Effect]) -> list[Any]:
    return [effect for effect in effects if isinstance(effect, kind)]


@pytest.fixture
def talk() -> Talk:
    return Talk(First("mine", "1.2"))


def welcomed(script: Any, bot: Bot, **settings: Any) -> Talk:
    talk = Talk(bot, **settings)
    talk.hears(script.welcome())
    return talk


def at_its_turn(talk: Talk, script: Any) -> list[Effect]:
    talk.hears(script.welcome())
    talk.hears(script.start(seek="s1"))
    return talk.hears(script.turn())


def test_hello_carries_name_token_version_and_slots() -> None:
    hello = Talk(First("mine", "1.2"), slots=4).conversation.hello()
    assert (hello.bot, hello.token, hello.version, hello.slots) == ("mine", "t" * 20, "1.2", 4)


def test_a_bot_seeks_as_many_matches_as_it_has_slots(script: Any) -> None:
    effects = Talk(First("mine"), slots=3, game="nim").hears(script.welcome())
    assert [seek.id for seek in of(messages.Seek, effects)] == ["s1", "s2", "s3"]
    assert {seek.game for seek in of(messages.Seek, effects)} == {"nim"}


def test_the_arena_may_grant_fewer_slots(script: Any) -> None:
    assert len(of(messages.Seek, Talk(First("mine"), slots=3).hears(script.welcome(slots=2)))) == 2


def test_a_bot_never_seeks_more_than_it_still_has_to_play(script: Any) -> None:
    talk = Talk(First("mine"), slots=2, matches=3)
    assert len(of(messages.Seek, talk.hears(script.welcome()))) == 2
    for n in (1, 2):
        talk.hears(script.start(f"m-{n}", seek=f"s{n}"))
    assert [seek.id for seek in of(messages.Seek, talk.hears(script.end("m-1")))] == ["s3"]
    assert of(messages.Seek, talk.hears(script.end("m-2"))) == []
    talk.hears(script.start("m-3", seek="s3"))
    assert of(Stop, talk.hears(script.end("m-3"))) == [Stop(0)]


def test_a_seek_carries_config_rated_and_opponent(script: Any) -> None:
    talk = Talk(First("mine"), game="nim", config={"preset": "sticks"}, rated=False, opponent="perfect")
    (seek,) = of(messages.Seek, talk.hears(script.welcome()))
    assert (seek.config, seek.rated, seek.opponent) == ({"preset": "sticks"}, False, "perfect")


def test_a_bot_whose_matches_are_assigned_never_seeks(script: Any) -> None:
    talk = Talk(First("mine"), assigned=True, slots=4)
    assert talk.hears(script.welcome()) == []
    assert of(messages.Ready, talk.hears(script.start()))
    assert of(messages.Seek, talk.hears(script.end())) == []
    assert talk.conversation.handle_lost(1001) == [Stop(0)]


def test_a_bot_stops_where_the_arena_plays_none_of_its_games(script: Any) -> None:
    effects = Talk(First("mine"), game="grundy").hears(script.welcome())
    assert lines(effects)[-1] == "mine: the arena does not play grundy; it plays nim, tictactoe"
    assert effects[-1] == Stop(1)


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


def test_an_error_in_the_authors_code_is_shown_and_loses_that_match_only(script: Any) -> None:
    talk = Talk(FailsIn("m-1"), slots=2)
    said, resign = talk.thinks(at_its_turn(talk, script))
    line = FailsIn.choose.__code__.co_firstlineno + 1
    failure = f"raised KeyError: 'no such key', in test_client_protocol.py line {line}"
    assert resign == messages.Resign(match="m-1", failure=failure)
    assert isinstance(said, PrintLine)
    assert said.line.startswith("mine: its code failed at ply 0 of m-1; the match is lost\nTraceback")
    assert 'return turn.state["no such key"]' in said.line
    assert "worker_threads.py" not in said.line
    assert of(messages.Ready, talk.hears(script.start("m-2")))


class FailsIn(Bot):
    """One whose code fails in the matches of these names."""

    def __init__(self, *matches: str) -> None:
        super().__init__("mine")
        self.matches_failed = matches

    def choose(self, turn: Turn) -> Any:
        return turn.state["no such key"] if turn.match in self.matches_failed else turn.legal[0]


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
    raised = f"raised KeyError: 'no such key', in test_client_protocol.py line {line}"
    assert "Traceback" in told[0]
    assert told[1] == f"mine: its code failed at ply 0 of m-2 as before: {raised}; the match is lost"


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


def give_up(turn: Turn) -> Any:
    raise GiveUp


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


def test_a_seek_that_cannot_be_granted_now_is_made_again_later(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    effects = talk.hears(messages.Error(code="unavailable", message="perfect is not here", ref="s1"))
    assert of(ScheduleSeek, effects) == [ScheduleSeek(2.0, "nim")]
    assert [seek.id for seek in of(messages.Seek, talk.conversation.retry_seek("nim"))] == ["s2"]


def test_a_seek_that_is_refused_again_and_again_is_made_ever_more_seldom_until_a_match_begins(
    talk: Talk, script: Any
) -> None:
    def refused() -> float:
        (seek,) = of(messages.Seek, talk.conversation.retry_seek("nim"))
        (later,) = of(ScheduleSeek, talk.hears(messages.Error(code="unavailable", message="not now", ref=seek.id)))
        return later.seconds

    talk.hears(script.welcome())
    talk.hears(messages.Error(code="unavailable", message="not now", ref="s1"))
    assert [refused() for _ in range(6)] == [4, 8, 16, 32, 60, 60]
    (seek,) = of(messages.Seek, talk.conversation.retry_seek("nim"))
    talk.hears(script.start(seek=seek.id))
    ending = talk.hears(script.end())
    (seek,) = of(messages.Seek, ending)
    assert (
        of(ScheduleSeek, talk.hears(messages.Error(code="unavailable", message="not now", ref=seek.id)))[0].seconds == 2
    )


def test_a_seek_that_can_never_be_granted_stops_the_bot(talk: Talk, script: Any) -> None:
    talk.hears(script.welcome())
    effects = talk.hears(messages.Error(code="bad_config", message="nim has no preset 'x'", ref="s1"))
    assert lines(effects) == ["mine: nim has no preset 'x' (bad_config)"]
    assert effects[-1] == Stop(1)


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


def listing(*bots: messages.ListedBot, more: int = 0) -> messages.Listing:
    own = [] if bots and bots[0].bot == "mine" else [messages.ListedBot(bot="MINE")]
    return messages.Listing(bots=[*own, *bots], matches=[], more_bots=more)


def bob(*seeks: messages.ListedSeek, playing: int = 0) -> messages.ListedBot:
    return messages.ListedBot(bot="Bob", seeks=list(seeks), playing=playing)


RATED = messages.ListedSeek(game="nim", preset="classic", rated=True)
UNRATED = messages.ListedSeek(game="nim")
OTHER_GAME = messages.ListedSeek(game="grundy", open=True)
SOME = bob(messages.ListedSeek(game="nim", open=True, presets=["classic", "sticks"]))
COLD = messages.ListedBot(bot="Bob", warming=["nim", "grundy"], warming_s=7)


HELD = "6 s: it has reached this arena's limit of matches an hour"


@pytest.mark.parametrize(
    ("opponent", "told", "says"),
    [
        (None, listing(), "an opponent at nim: nobody else seeks it"),
        (None, listing(bob(OTHER_GAME)), "an opponent at nim: nobody else seeks it"),
        (None, listing(more=1), "an opponent at nim"),
        (None, listing(SOME), "an opponent at nim: Bob seeks it openly (classic, sticks)"),
        (None, listing(COLD), "an opponent at nim: Bob is getting ready for it"),
        ("bob", listing(SOME), "bob at nim, which seeks it openly (classic, sticks)"),
        ("bob", listing(COLD), "bob at nim, which has been getting ready for it for 7 s"),
        (
            None,
            listing(bob(RATED, messages.ListedSeek(game="nim", opponents=["ann"]))),
            "an opponent at nim: Bob seeks it rated (classic), unrated against ann (custom config)",
        ),
        (
            None,
            listing(*(messages.ListedBot(bot=f"b{n}", seeks=[RATED]) for n in range(5))),
            "an opponent at nim: b0 seeks it rated (classic); b1 seeks it rated (classic); b2 seeks it rated (classic)"
            "; so do 2 more",
        ),
        (None, listing(messages.ListedBot(bot="mine", seeks=[RATED], pace_s=6)), HELD),
        ("bob", listing(), "bob at nim, which is not connected"),
        (
            "Bob",
            listing(messages.ListedBot(bot="mine", seeks=[messages.ListedSeek(game="nim", unknown=["bob"])])),
            "Bob at nim, which never connected",
        ),
        ("bob", listing(more=1), "bob at nim"),
        ("bob", listing(bob(OTHER_GAME)), "bob at nim, which is connected but does not seek it now"),
        ("bob", listing(bob(OTHER_GAME, playing=1)), "bob at nim, which is playing now"),
        (
            "bob",
            listing(bob(RATED)),
            "bob at nim, which seeks rated matches: a seek that names its opponent is unrated",
        ),
        (
            "bob",
            listing(bob(RATED, UNRATED)),
            "bob at nim, which seeks it rated (classic), unrated (custom config)",
        ),
        (
            None,
            listing(bob(messages.ListedSeek(game="nim", preset="classic", private=True))),
            "an opponent at nim: Bob seeks it unrated against bots that name it (classic)",
        ),
    ],
)
def test_an_author_is_told_whom_a_match_waits_for(
    script: Any, opponent: str | None, told: messages.Listing, says: str
) -> None:
    talk = Talk(First("mine"), game="nim", opponent=opponent)
    assert of(ScheduleListing, talk.hears(script.welcome())) == [ScheduleListing(3.0)]
    assert talk.conversation.request_listing() == [messages.List(), ScheduleListing(15.0)]
    assert talk.hears(told) == [PrintLine(f"mine: waiting {says if says == HELD else f'for {says}'}")]
    assert talk.hears(told) == []


def test_who_goes_on_waiting_is_told_again_now_and_then(script: Any) -> None:
    talk = welcomed(script, First("mine"), game="nim")
    later = [of(ScheduleListing, talk.conversation.request_listing())[0].seconds for _ in range(5)]
    assert later == [15.0, 75.0, 375.0, 600.0, 600.0]


def test_a_wait_after_a_match_is_told_as_the_first_was(script: Any) -> None:
    talk = welcomed(script, First("mine"), game="nim")
    talk.conversation.request_listing()
    talk.hears(script.start(seek="s1"))
    assert talk.hears(listing()) == [], "what was asked before the match"
    assert of(ScheduleListing, talk.hears(script.end())) == [], "one is due"
    assert talk.conversation.request_listing() == [ScheduleListing(3.0)], "a match began meanwhile"
    assert talk.conversation.request_listing()[0] == messages.List()


def test_who_waits_is_looked_up_again_after_a_connection_was_lost(script: Any) -> None:
    talk = welcomed(script, First("mine"), game="nim")
    talk.conversation.handle_lost(1006)
    assert talk.conversation.request_listing() == []
    assert of(ScheduleListing, talk.hears(script.welcome())) == [ScheduleListing(3.0)]
    assert talk.conversation.request_listing()[0] == messages.List()


@pytest.mark.parametrize("settings", [{"open": True}, {"assigned": True}])
def test_who_seeks_nobody_looks_for_nobody(script: Any, settings: Any) -> None:
    assert of(ScheduleListing, Talk(First("mine"), **settings).hears(script.welcome())) == []


def test_a_bot_that_is_asked_to_finish_withdraws_its_seeks_plays_its_match_and_stops(script: Any) -> None:
    talk = welcomed(script, First("mine"), slots=2, game="nim")
    talk.hears(script.start(seek="s1"))
    assert talk.conversation.finish() == [messages.Unseek(id="s2")]
    assert talk.conversation.finish() == [], "it is asked twice"
    assert not of(Stop, talk.hears(messages.Unseeked(id="s2")))
    assert of(messages.Move, talk.thinks(talk.hears(script.turn())))
    assert of(Stop, talk.hears(script.end())) == [Stop(0)]


def test_a_match_that_began_while_its_seek_was_withdrawn_is_played(script: Any) -> None:
    talk = welcomed(script, First("mine"), game="nim")
    assert talk.conversation.finish() == [messages.Unseek(id="s1")]
    assert of(messages.Ready, talk.hears(script.start(seek="s1")))
    assert of(Stop, talk.hears(script.end())) == [Stop(0)]


def test_a_bot_that_is_asked_to_finish_before_it_is_welcome_plays_the_matches_that_go_on(script: Any) -> None:
    resuming = Talk(First("mine"), game="nim")
    assert resuming.conversation.finish() == []
    effects = resuming.hears(script.welcome("m-1"))
    assert not of(messages.Seek, effects) + of(Stop, effects)
    resuming.hears(script.start())
    assert of(Stop, resuming.hears(script.end())) == [Stop(0)]
    idle = Talk(First("mine"), game="nim")
    idle.conversation.finish()
    effects = idle.hears(script.welcome())
    assert of(messages.Seek, effects) + of(Stop, effects) == [Stop(0)]


def test_a_bot_that_makes_itself_ready_when_a_match_ends_seeks_the_next_one_after_that(script: Any) -> None:
    class Tidy(First):
        seeks_when_done = True

        def ended(self, end: messages.End) -> None:
            tidied.append(end.match)

    tidied: list[str] = []
    talk = welcomed(script, Tidy("mine"), game="nim")
    talk.hears(script.start(seek="s1"))
    effects = talk.hears(script.end())
    assert not of(messages.Seek, effects)
    assert of(messages.Seek, talk.thinks(effects))
    assert tidied == ["m-1"]
