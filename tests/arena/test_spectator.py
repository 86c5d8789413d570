"""A spectator and several nodes, in memory: which match it watches on which node, and when it gives up."""

from __future__ import annotations

from typing import Any

import pytest

from arena.commands.watch import POLL_INTERVAL_S, RECONNECT_TIMEOUT_S, Show, SpectatorProtocol
from machine.client.client_protocol import PrintLine, ScheduleListing, Stop
from machine.client.connecting import ArenaRefused
from machine.client.nodes import MAX_ATTEMPTS, MAX_REDIRECTS, ArenaNode, CloseConnection, Connect, NodeRouter, SendTo
from protocol import messages
from protocol.close_codes import RESTARTING
from protocol.errors import UsageFault
from protocol.messages import Clock, End, Error, FromServer, Limits, List, ListedBot, ListedMatch, Listing, Start, Watch

A, B = "ws://a.example", "ws://b.example"
LIST_A, LIST_B = SendTo(A, List()), SendTo(B, List())
START = Start(
    match="m-1",
    game="nim",
    config={},
    seats=[],
    clock=Clock(bank_ms=1, increment_ms=0),
    commitment="0" * 64,
    rated=True,
)
RESULT: dict[str, Any] = {"ranks": [1, 2], "reason": "win", "seats": [], "nonces": [], "record": ""}
END = End(match="m-1", ply=1, events=[], state={}, digest="0" * 64, **RESULT)
GONE = Error(code="unavailable", message="no match 'm-1' is under way", ref="m-1")
WATCH_A, WATCH_B = SendTo(A, Watch(match="m-1")), SendTo(B, Watch(match="m-1"))


class Watching:
    """A spectator and its nodes: `hear` a message from one of them."""

    def __init__(self, named: str | None = None, *, follow: bool = False) -> None:
        self.protocol = SpectatorProtocol(A, named, follow=follow)
        self.nodes = NodeRouter(self.protocol)
        self.talks: dict[str, ArenaNode] = {A: self.nodes.node_at(A)}

    def welcome(self, url: str = A) -> list[Any]:
        self.protocol.hello()
        limits = Limits(max_message=1, strikes=3, slots=1)
        return self.hear(messages.Welcome(games=["nim"], limits=limits, resumed=[], url=url), url)

    def hear(self, message: FromServer, url: str = A) -> list[Any]:
        effects = self.nodes.receive(self.talks[url], message, 0.0)
        self.talks.update((it.url, self.nodes.node_at(it.url)) for it in effects if isinstance(it, Connect))
        return effects

    def lose(self, url: str, code: int = 1006) -> list[Any]:
        return self.nodes.handle_lost(self.talks[url], code)

    def fail(self, url: str) -> list[Any]:
        return self.nodes.handle_failed_attempt(self.talks[url])


def listing(*matches: str, bots: tuple[str, ...] = (), elsewhere: str = B) -> Listing:
    listed = [ListedMatch(match=one, game="nim", seats=[], ply=0, started="", rated=True) for one in matches]
    return Listing(bots=[ListedBot(bot=bot) for bot in bots], matches=listed, elsewhere=[elsewhere])


def moved(url: str) -> Error:
    return Error(code="elsewhere", message="it is on another node", ref="m-1", url=url)


@pytest.fixture
def roaming() -> Watching:
    """A spectator that node a sent on to node b, where it watches a match that was named."""
    roaming = Watching("m-1")
    assert roaming.welcome() == [WATCH_A]
    assert roaming.hear(moved(B)) == [Connect(B)]  # on another host: a spectator has no token
    assert roaming.welcome(B) == [WATCH_B]
    assert roaming.hear(START, B) == [Show(START)]
    return roaming


def test_a_match_is_watched_to_its_end_on_the_node_that_plays_it(roaming: Watching) -> None:
    assert roaming.hear(END, B) == [Show(END), Stop(0)]
    assert roaming.protocol.fault is None


def test_who_follows_watches_the_next_match_after_one() -> None:
    watching = Watching("m-1", follow=True)
    watching.welcome()
    watching.hear(START)
    assert watching.hear(END) == [Show(END), LIST_A]
    assert SendTo(A, Watch(match="m-2")) in watching.hear(listing("m-1", "m-2"))


def test_while_no_match_is_under_way_all_nodes_are_asked_again_and_the_wait_is_told_once() -> None:
    watching, later = Watching(), ScheduleListing(POLL_INTERVAL_S)
    assert watching.welcome() == [LIST_A]
    assert watching.hear(listing(bots=("ann",))) == [Connect(B), later]
    assert watching.welcome(B) == [LIST_A, LIST_B]
    told = PrintLine("waiting for a match to begin; 2 bots online", is_error=True)
    assert watching.hear(listing(bots=("ann", "bob"), elsewhere=A), B) == [told]
    assert watching.nodes.run_step(watching.protocol.request_listing) == [LIST_A, LIST_B]
    assert watching.hear(listing(bots=("ann",))) == [later]
    assert watching.hear(listing("m-1", elsewhere=A), B) == [WATCH_B]
    assert watching.nodes.run_step(watching.protocol.request_listing) == []


def test_only_of_the_first_node_and_that_of_its_match_a_spectator_is_told_that_they_are_away(roaming: Watching) -> None:
    assert [roaming.nodes.is_reported(roaming.talks[url]) for url in (A, B)] == [True, True]
    waiting = Watching()
    waiting.welcome()
    waiting.hear(listing())
    assert [waiting.nodes.is_reported(waiting.talks[url]) for url in (A, B)] == [True, False]
    gone = waiting.nodes.handle_refusal(waiting.talks[B], ArenaRefused("HTTP 404"))
    assert gone == [CloseConnection(B)]


def test_the_wait_is_told_although_another_node_does_not_answer() -> None:
    watching = Watching()
    watching.welcome()
    watching.hear(listing())
    assert watching.hear(listing()) == [PrintLine("waiting for a match to begin; 0 bots online", is_error=True)]


def test_of_a_listed_match_that_is_over_already_the_next_is_watched() -> None:
    watching = Watching()
    watching.welcome()
    assert WATCH_A in watching.hear(listing("m-1"))
    assert watching.hear(GONE) == [LIST_A]
    assert SendTo(A, Watch(match="m-2")) in watching.hear(listing("m-1", "m-2"))


def test_a_match_that_was_shown_and_is_gone_ends_the_spectator_with_advice() -> None:
    watching = Watching()
    watching.welcome()
    watching.hear(listing("m-1"))
    watching.hear(START)
    assert watching.hear(GONE) == [Stop(1)]
    assert isinstance(watching.protocol.fault, UsageFault)
    assert "if it is over, `arena replay show m-1 --boards` tells it" in str(watching.protocol.fault)


def test_who_loses_the_node_of_its_match_asks_another_until_that_node_is_back(roaming: Watching) -> None:
    assert roaming.lose(B) == [WATCH_A]
    assert roaming.hear(moved(B)) == []
    asked = [roaming.fail(B) for _ in range(MAX_ATTEMPTS)]
    assert asked == [[]] * (MAX_ATTEMPTS - 1) + [[WATCH_A]]
    for _ in range(2 * MAX_REDIRECTS):
        assert roaming.hear(moved(B)) == []
        assert roaming.fail(B) == [WATCH_A]
    assert roaming.hear(moved(B)) == []
    assert roaming.welcome(B) == [WATCH_B]


def test_a_match_is_watched_again_when_its_connection_is_back() -> None:
    watching = Watching("m-1")
    assert watching.nodes.patience_for(watching.talks[A]) == 0
    watching.welcome()
    assert watching.lose(A, RESTARTING) == []
    assert watching.nodes.describe_end(watching.talks[A], RESTARTING) == f"the arena at {A} was stopped or restarts"
    assert watching.nodes.patience_for(watching.talks[A]) == RECONNECT_TIMEOUT_S
    assert watching.welcome() == [WATCH_A]


@pytest.mark.parametrize("is_welcome", [True, False])
def test_a_connection_that_is_lost_while_nothing_is_watched_ends_the_spectator(is_welcome: bool) -> None:
    watching, told = Watching(None if is_welcome else "m-1"), "ended the connection (1013)"
    if is_welcome:
        watching.welcome()
    else:
        told = "says: too many connections"
        watching.hear(Error(code="rate_limited", message="too many connections", fatal=True))
    assert watching.lose(A, 1013) == [Stop(1)]
    assert str(watching.protocol.fault) == f"the arena at {A} {told}"


def test_what_is_no_url_of_a_node_is_not_followed() -> None:
    watching = Watching("m-1")
    watching.welcome()
    told = "a node of the arena is ignored: 'http://b.example' is not a WebSocket URL"
    assert watching.hear(moved("http://b.example")) == [PrintLine(told, is_error=True), Stop(1)]
