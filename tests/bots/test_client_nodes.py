"""One bot and several nodes, in memory: where what it says goes, and what it makes of what each of them tells."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bots.client.conversation import Conversation, PrintLine, ScheduleSeek, Stop
from bots.client.settings import Settings
from bots.client.worker_threads import Choose, do_work
from machine.client.client_protocol import Effect
from machine.client.connecting import ArenaRefused
from machine.client.node_urls import MAX_NODES
from machine.client.nodes import (
    ATTEMPTS_BEFORE_FAILOVER,
    MAX_ATTEMPTS,
    MAX_COMPLAINTS,
    MAX_REDIRECTS,
    ArenaNode,
    CloseConnection,
    Connect,
    NodeRouter,
    SendTo,
)
from protocol import messages
from protocol.close_codes import SUPERSEDED
from protocol.error_codes import ELSEWHERE, UNAVAILABLE
from turns import First

FIRST, A, B, C = "ws://arena", "ws://arena/a", "ws://arena/b", "ws://arena/c"


class Roaming:
    """A bot at several nodes; `hear` a message from one of them."""

    def __init__(self, **settings: Any) -> None:
        self.bot = First("mine")
        settings = {"seed": "7", "url": FIRST, "game": "nim", **settings}
        self.conversation = Conversation(self.bot, Settings(**settings), "t" * 20)
        self.nodes = NodeRouter(self.conversation)
        self.talks: dict[str, ArenaNode] = {FIRST: self.nodes.node_at(FIRST)}

    def hear(self, url: str, message: messages.FromServer) -> list[Effect]:
        return self.does(self.nodes.receive(self.talks[url], message, 0.0))

    def lose(self, url: str, code: int = 1006) -> list[Effect]:
        return self.does(self.nodes.handle_lost(self.talks[url], code))

    def fail(self, url: str) -> list[Effect]:
        return self.does(self.nodes.handle_failed_attempt(self.talks[url]))

    def does(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Connect):
                self.talks[effect.url] = self.nodes.node_at(effect.url)
        return effects


def sent(effects: list[Effect]) -> list[tuple[str, str]]:
    return [(effect.url, type(effect.message).__name__) for effect in effects if isinstance(effect, SendTo)]


def said(effects: list[Effect]) -> str:
    return "\n".join(effect.line for effect in effects if isinstance(effect, PrintLine))


def elsewhere(url: str, ref: str | None = "s1") -> messages.Error:
    return messages.Error(
        code=ELSEWHERE, message=f"seek: nim is played on another node: connect to {url}", ref=ref, url=url
    )


@pytest.fixture
def roaming(script: Any) -> Roaming:
    """A bot that was welcomed by node a, which sent its seek on to node b."""
    roaming = Roaming()
    assert sent(roaming.hear(FIRST, replace(script.welcome(), url=A))) == [(FIRST, "Seek")]
    assert roaming.hear(FIRST, elsewhere(B)) == [Connect(B)]
    return roaming


def test_a_seek_goes_to_the_node_that_plays_its_game_and_the_match_is_played_there(
    roaming: Roaming, script: Any
) -> None:
    assert sent(roaming.hear(B, replace(script.welcome(), url=B))) == [(B, "Seek")]
    assert sent(roaming.hear(B, script.start(seek="s1"))) == [(B, "Ready")]
    (choose,) = roaming.hear(B, script.turn())
    assert isinstance(choose, Choose)
    thought = do_work(roaming.bot, choose)
    assert sent(roaming.nodes.run_step(lambda: roaming.conversation.handle_result(thought))) == [(B, "Move")]
    assert sent(roaming.hear(B, script.end())) == [(B, "Seek")]


def test_of_a_single_server_nothing_is_any_different(script: Any) -> None:
    roaming = Roaming()
    assert sent(roaming.hear(FIRST, script.welcome())) == [(FIRST, "Seek")]
    roaming.hear(FIRST, script.start(seek="s1"))
    assert "lost" not in said(roaming.lose(FIRST))
    assert "m-1 ended while the connection was down" in said(roaming.hear(FIRST, script.welcome()))


def test_a_match_goes_on_while_another_connection_is_lost_and_made_again(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    roaming.lose(FIRST)
    assert "ended" not in said(roaming.hear(FIRST, replace(script.welcome(), url=A)))
    assert len(roaming.hear(B, script.turn())) == 1


def test_a_match_that_the_arena_says_goes_on_elsewhere_is_not_taken_for_ended(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    for url in (B, FIRST):
        roaming.lose(url)
    heard = roaming.hear(FIRST, replace(script.welcome(), url=A, elsewhere=[B]))
    assert "ended" not in said(heard)
    assert sent(roaming.hear(B, replace(script.welcome("m-1"), url=B))) == []
    roaming.hear(B, script.start(resumed=True))
    assert len(roaming.hear(B, script.turn())) == 1


def test_a_match_that_the_arena_knows_nowhere_has_ended(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    for url in (B, FIRST):
        roaming.lose(url)
    heard = roaming.hear(FIRST, replace(script.welcome(), url=A))
    assert "m-1 ended while the connection was down" in said(heard)


def test_a_bot_that_comes_back_by_another_node_goes_where_its_matches_are(script: Any) -> None:
    roaming = Roaming()
    assert Connect(B) in roaming.hear(FIRST, replace(script.welcome(), url=A, elsewhere=[B]))
    roaming.hear(B, replace(script.welcome("m-9"), url=B))
    assert sent(roaming.hear(B, script.start("m-9", resumed=True))) == [(B, "Ready")]


def test_a_bot_goes_where_it_is_called_and_does_not_say_so(script: Any) -> None:
    roaming = Roaming()
    roaming.hear(FIRST, replace(script.welcome(), url=A))
    assert roaming.hear(FIRST, elsewhere(B, None)) == [Connect(B)]
    assert roaming.hear(FIRST, elsewhere(B, None)) == []
    assert roaming.hear(FIRST, elsewhere(A, None)) == []


def test_the_seeks_of_a_node_that_is_lost_are_sought_anew(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    lost = roaming.lose(B)
    assert [type(effect) for effect in lost] == [PrintLine, ScheduleSeek]
    assert (
        roaming.nodes.run_step(lambda: roaming.conversation.retry_seek("nim")) == []
    )  # it is sought there, once it is back
    assert sent(roaming.hear(B, replace(script.welcome(), url=B))) == [(B, "Seek")]


def test_where_a_node_cannot_be_reached_the_first_is_asked_again(roaming: Roaming) -> None:
    tries = [roaming.fail(B) for _ in range(MAX_ATTEMPTS)]
    assert tries[:-1] == [[]] * (MAX_ATTEMPTS - 1)
    assert CloseConnection(B) in tries[-1]
    assert sent(roaming.nodes.run_step(lambda: roaming.conversation.retry_seek("nim"))) == [(FIRST, "Seek")]


def test_a_bot_whose_first_node_stays_away_plays_at_others_that_it_had_named(script: Any) -> None:
    roaming = Roaming()
    roaming.hear(FIRST, replace(script.welcome(), url=A, nodes=[B, C]))
    roaming.lose(FIRST)
    tries = [roaming.fail(FIRST) for _ in range(MAX_ATTEMPTS + 1)]
    assert tries == [[]] * (MAX_ATTEMPTS - 1) + [[Connect(B)], []]
    assert [roaming.fail(B) for _ in range(MAX_ATTEMPTS)][-1] == [CloseConnection(B)]
    assert roaming.fail(FIRST) == [Connect(C)]
    assert sent(roaming.hear(C, replace(script.welcome(), url=C, nodes=[A, B]))) == [(C, "Seek")]
    assert roaming.fail(FIRST) == []
    roaming.hear(C, script.start(seek="s2"))
    assert "ended" not in said(roaming.hear(FIRST, replace(script.welcome(), url=A, nodes=[B, C])))
    assert len(roaming.hear(C, script.turn())) == 1


def test_a_node_with_a_match_is_tried_for_ever(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    roaming.lose(B)
    assert roaming.nodes.run_step(lambda: [messages.Resign(match="m-1")]) == []  # it is said again when b is back
    assert not any(isinstance(effect, CloseConnection) for _ in range(9) for effect in roaming.fail(B))


def test_while_a_node_with_its_match_stays_away_a_bot_plays_others(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    roaming.lose(B)
    tries = [sent(roaming.fail(B)) for _ in range(ATTEMPTS_BEFORE_FAILOVER + 2)]
    assert tries == [[]] * (ATTEMPTS_BEFORE_FAILOVER - 1) + [[(FIRST, "Seek")], [], []]
    assert sent(roaming.hear(B, replace(script.welcome("m-1"), url=B))) == []
    roaming.hear(B, script.start(resumed=True))
    assert len(roaming.hear(B, script.turn())) == 1


def test_a_node_that_refuses_a_bot_with_a_match_there_is_away_as_well(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    roaming.lose(B)
    tries = [
        sent(roaming.nodes.handle_refusal(roaming.talks[B], ArenaRefused(f"{B} answered HTTP 404")))
        for _ in range(ATTEMPTS_BEFORE_FAILOVER)
    ]
    assert [effect for one in tries for effect in one] == [(FIRST, "Seek")]


def test_a_seek_that_is_sent_to_and_fro_is_tried_again_later(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    for _ in range(MAX_REDIRECTS - 1):
        assert sent(roaming.hear(B, elsewhere(B))) == [(B, "Seek")]
    heard = roaming.hear(B, elsewhere(B))
    assert any(isinstance(effect, ScheduleSeek) for effect in heard)


def test_a_connection_that_another_process_of_the_bot_took_over_ends_it(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    assert Stop(1) in roaming.lose(B, SUPERSEDED)


@pytest.mark.parametrize("told", ["welcome first", "close first"])
def test_where_the_first_url_leads_to_a_node_of_which_there_is_a_connection_one_of_them_is_left(
    roaming: Roaming, script: Any, told: str
) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.hear(B, script.start(seek="s1"))
    roaming.lose(FIRST)
    steps = {
        "welcome": lambda: roaming.hear(FIRST, replace(script.welcome("m-1"), url=B)),
        "close": lambda: roaming.lose(B, SUPERSEDED),
    }
    effects = [effect for step in (steps if told == "welcome first" else reversed(steps)) for effect in steps[step]()]
    assert CloseConnection(B) in effects
    assert not any(isinstance(effect, Stop) for effect in effects)
    roaming.hear(FIRST, script.start(resumed=True))
    assert len(roaming.hear(FIRST, script.turn())) == 1


def test_what_was_sought_of_a_node_goes_on_over_the_first_url_where_that_leads_there_now(
    roaming: Roaming, script: Any
) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    roaming.lose(FIRST)
    assert sent(roaming.hear(FIRST, replace(script.welcome(), url=B))) == [(FIRST, "Seek")]
    roaming.lose(B, SUPERSEDED)
    assert sent(roaming.hear(FIRST, script.start(seek="s1"))) == [(FIRST, "Ready")]


def test_a_connection_that_was_about_to_be_made_may_take_over_the_first_one(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    for url in (FIRST, B):
        roaming.lose(url)
    roaming.hear(FIRST, replace(script.welcome(), url=B))
    assert Stop(1) not in roaming.lose(FIRST, SUPERSEDED)
    roaming.hear(FIRST, replace(script.welcome(), url=B))
    assert Stop(1) in roaming.lose(FIRST, SUPERSEDED)


def test_a_seek_is_taken_back_where_it_is(script: Any) -> None:
    roaming = Roaming(open=True, game=None, slots=2)
    roaming.hear(FIRST, replace(script.welcome(), url=A))
    roaming.hear(FIRST, elsewhere(B))
    taken = roaming.nodes.run_step(lambda: [messages.Unseek(id="s1"), messages.Unseek(id="s2")])
    assert sent(taken)[-1] == (FIRST, "Unseek")
    roaming.hear(B, replace(script.welcome(), url=B))
    assert sent(roaming.nodes.run_step(lambda: [messages.Unseek(id="s2")])) == [(FIRST, "Unseek")]


def test_all_nodes_that_are_connected_are_told_for_which_games_a_bot_warms_up(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    told = roaming.nodes.run_step(lambda: [messages.Warming(games=["nim"])])
    assert sorted(sent(told)) == sorted([(FIRST, "Warming"), (B, "Warming")])


def test_an_error_that_is_of_no_seek_is_told(roaming: Roaming, script: Any) -> None:
    roaming.hear(B, replace(script.welcome(), url=B))
    assert "soon" in said(roaming.hear(B, messages.Error(code=UNAVAILABLE, message="the arena stops soon")))


TLS = "wss://arena.example"
BAD_URLS = [
    "",
    "http://arena/b",
    "ws://a\x00b",
    "ws://[::1",
    "ws://[::1].evil",
    "ws://arena:99999999",
    "ws://" + "a" * 70 + ".example",
    "ws://a..b",
    "ws://arena:0",
    "ws://u:p@arena/b",
    "ws:///x",
    "ws://arena/b#frag",
    "ws://\u2100.example",
    "ws://arena/ \r\nX: y",
    "ws://arena/" + "b" * 5000,
]


def connections(effects: list[Effect]) -> list[str]:
    return [effect.url for effect in effects if isinstance(effect, Connect)]


def named_by(script: Any, first: str, *urls: str, hosts: tuple[str, ...] = ()) -> list[Effect]:
    """What a bot does that was welcomed at `first`, and told that its matches go on at these URLs."""
    conversation = Conversation(First("mine"), Settings(seed="7", url=first, game="nim"), "t" * 20)
    nodes = NodeRouter(conversation, hosts=hosts)
    return nodes.receive(
        nodes.node_at(first), replace(script.welcome(), url=first, nodes=[*urls], elsewhere=[*urls]), 0.0
    )


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_url_that_is_none_is_not_followed_whoever_names_it(script: Any, url: str) -> None:
    assert connections(named_by(script, FIRST, url)) == []
    roaming = Roaming()
    roaming.hear(FIRST, script.welcome())
    sent_on = roaming.hear(FIRST, elsewhere(url))
    assert connections(sent_on) == []
    assert "a node of the arena is ignored" in said(sent_on)
    assert any(isinstance(effect, ScheduleSeek) for effect in sent_on), "its seek is tried again"
    assert connections(roaming.hear(FIRST, elsewhere(url, ref=None))) == []


@pytest.mark.parametrize(
    ("first", "url", "follows"),
    [
        (TLS, "wss://arena.example/b", True),
        (TLS, "wss://ARENA.example:8766/b", True),
        (TLS, "ws://arena.example/b", False),
        (TLS, "wss://evil.example/b", False),
        (TLS, "wss://arena.example.evil/b", False),
        (TLS, "wss://b.arena.example", False),
        ("ws://arena.example", "wss://arena.example/b", True),
        ("ws://arena.example", "ws://10.0.0.1/b", False),
        ("ws://localhost:8765", "ws://127.0.0.1:8766", True),
        ("ws://127.0.0.1:8765", "ws://[::1]:8766", True),
        ("ws://arena.example", "ws://localhost:8766", False),
    ],
)
def test_only_nodes_on_the_same_host_are_followed_and_from_tls_only_to_tls(
    script: Any, first: str, url: str, follows: bool
) -> None:
    assert connections(named_by(script, first, url)) == ([url] if follows else [])


@pytest.mark.parametrize("hosts", [("b.example",), ("*.example",), ("x", "b.example")])
def test_other_hosts_are_followed_where_the_user_allows_them(script: Any, hosts: tuple[str, ...]) -> None:
    assert connections(named_by(script, TLS, "wss://b.example", hosts=hosts)) == ["wss://b.example"]
    assert connections(named_by(script, TLS, "ws://b.example", "wss://bexample", hosts=hosts)) == []
    refused = said(named_by(script, TLS, "wss://c.test", hosts=hosts))
    assert "'wss://c.test' is on another host than wss://arena.example: if that is right, add --hosts c.test" in refused


def test_a_server_that_names_thousands_of_nodes_is_followed_to_some_and_told_of_once(script: Any) -> None:
    effects = named_by(script, FIRST, *(f"ws://arena/{number}" for number in range(3000)))
    assert len({FIRST, *connections(effects)}) == MAX_NODES
    assert said(effects).count("is ignored") == 1
    strangers = named_by(script, FIRST, *(f"ws://host-{number}" for number in range(3000)))
    assert connections(strangers) == []
    assert said(strangers).count("is ignored") == MAX_COMPLAINTS


def test_a_node_that_is_not_followed_is_not_tried_when_the_first_is_away_either(script: Any) -> None:
    roaming = Roaming()
    roaming.hear(FIRST, replace(script.welcome(), nodes=["ws://evil", "ws://[::1", B]))
    roaming.lose(FIRST)
    tried = [roaming.fail(FIRST) for _ in range(MAX_ATTEMPTS + 2)]
    assert {url for effects in tried for url in connections(effects)} == {B}
