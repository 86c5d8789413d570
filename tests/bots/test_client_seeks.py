"""A bot seeks as many matches as it may play, says whom it waits for, and stops when it is asked to."""

from __future__ import annotations

from typing import Any

import pytest

from bots.client.conversation import ScheduleSeek
from client_talk import Talk, lines, of, welcomed
from machine.client.client_protocol import PrintLine, ScheduleListing, Stop
from protocol import messages
from turns import First


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
