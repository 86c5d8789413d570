"""One conversation with an arena of several nodes: over which connection a message goes, and what each of them tells.

Seeks go to the node that pairs their game, once it is known; a match is played where it began. No sockets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bots.client.node_urls import MAX_NODES, refusal
from bots.client.progress_report import STOPPING
from bots.client.talk import Effect, Say, Stop, Talk
from protocol import messages
from protocol.close_codes import SUPERSEDED
from protocol.error_codes import ELSEWHERE, UNAVAILABLE
from protocol.errors import Fault, UsageFault
from protocol.messages import FromClient, FromServer

ABNORMAL = 1006
"""How a connection ended of which nobody knows why."""
TRIES = 3
"""After so many in vain nothing new is asked of a node, until it is there again."""
PATIENT = 7
"""After so many, some five seconds, its matches are not waited for with others."""
MAX_COMPLAINTS = 4
"""Reasons that are said why nodes are left out, so that a server cannot fill the screen."""
MOST_SENT_ON = 4
"""Times that a seek is sent on to another node; then it is tried again later, as nodes may come and go now."""


@dataclass(frozen=True, slots=True)
class To:
    """Send this over the connection to a URL."""

    url: str
    message: FromClient


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to this URL, too."""

    url: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Be connected to this URL no more."""

    url: str


Directed = Effect | To | Connect | Disconnect
"""What is to be done; a message of an effect goes over some connection, and is in a `To`."""


@dataclass(slots=True)
class _Place:
    """A node that is connected to, or about to be: what it calls itself, and what it is told once it is there."""

    url: str
    node: str
    up: bool = False
    merged: bool = False
    """Whether it took the place of another connection of ours, which may have been about to be made."""
    failures: int = 0
    waiting: list[messages.Seek] = field(default_factory=list)


@dataclass(slots=True)
class _Sought:
    seek: messages.Seek
    place: _Place
    sent_on: int = 0


class Nodes:
    """Has `talk` go on with all nodes of an arena as if they were one, of which `first` is the URL that was given; with
    `stays` that one is the only one. Others are on the same host, or on `hosts`.
    """

    def __init__(self, talk: Talk, first: str, *, stays: bool = False, hosts: tuple[str, ...] = ()) -> None:
        self._stays = stays
        self._hosts = hosts
        self._complaints: set[str] = set()
        """Why URLs were not followed, as far as it was said; no more than `MAX_COMPLAINTS`."""
        self._talk = talk
        self._first = _Place(first, first)
        self._places = {first: self._first}
        """By URL."""
        self._pairing: dict[str, _Place] = {}
        """By game, the node that pairs it, where one has said so."""
        self._seeks: dict[str, _Sought] = {}
        """Those in force."""
        self._known: list[str] = []
        """The URLs of other nodes, as one of them named them last: for when none can be reached of those in use."""
        self._matches: dict[str, str] = {}
        """By match, what the node calls itself on which it is played."""

    def at(self, url: str) -> NodeTalk:
        """What is said over the connection to a URL."""
        return NodeTalk(self, self._places[url])

    def take(self, step: Callable[[], list[Effect]]) -> list[Directed]:
        """Take a step of the conversation."""
        return self._directed(step())

    def hello(self) -> messages.Hello:
        """The first message of every connection."""
        return self._talk.hello()

    def receive(self, place: _Place, message: FromServer | None, now: float) -> list[Directed]:
        """What to do about a message of a node."""
        self._talk.at = place.url
        if isinstance(message, messages.Welcome):
            return self._welcomed(place, message, now)
        if isinstance(message, messages.Error):
            if message.code == ELSEWHERE and message.url is not None:
                return self._sent_on(message, message.url, now)
            self._seeks.pop(message.ref or "", None)
        elif isinstance(message, messages.Unseeked):
            self._seeks.pop(message.id, None)
        elif isinstance(message, messages.Start) and message.seat is not None:
            self._matches[message.match] = place.node
            self._seeks.pop(message.seek or "", None)
        effects = self._directed(self._talk.receive(message, now))
        if isinstance(message, messages.End):
            self._matches.pop(message.match, None)
        return effects

    def lost(self, place: _Place, code: int) -> list[Directed]:
        """A connection ended with this close code: what others are for goes on."""
        self._talk.at = place.url
        place.up = False
        if code == SUPERSEDED and self._by_ourselves(place):
            code = ABNORMAL
        if code in STOPPING or not any(other.up for other in self._places.values()):
            self._seeks.clear()
            for other in self._places.values():
                other.waiting.clear()
            return self._directed(self._talk.lost(code))
        return self._end_seeks(place, f"the connection to {place.url} was lost")

    def _by_ourselves(self, place: _Place) -> bool:
        """Whether the newer connection that took over may be one of ours: the first URL leads to any node, as a proxy
        likes.
        """
        merged, place.merged = place.merged, False
        first_comes = place is not self._first and not self._first.up
        return first_comes or merged or self._twin(place) is not None

    def _twin(self, place: _Place) -> _Place | None:
        """Another connection to the same node."""
        return next((other for other in self._places.values() if other is not place and other.node == place.node), None)

    def others_up(self, place: _Place) -> bool:
        """Whether another connection than this one stands."""
        return any(other.up for other in self._places.values() if other is not place)

    def ended(self, place: _Place, code: int) -> str:
        """How a connection ended, in the arena's words where it said why."""
        self._talk.at = place.url
        return self._talk.ended(code)

    def unreached(self, place: _Place) -> list[Directed]:
        """A node could not be connected to, once more: what it was to be asked the others are asked."""
        place.failures += 1
        if place.failures < TRIES:
            return []
        self._pairing = {game: at for game, at in self._pairing.items() if at is not place}
        effects: list[Directed] = []
        if place is not self._first and place.node not in self._matches.values():
            del self._places[place.url]
            effects.append(Disconnect(place.url))
        elif place is self._first and all(other.failures >= TRIES for other in self._places.values()):
            effects += self._try_another()
        effects += self._end_seeks(place, f"{place.url} can't be reached")
        return effects + (self._without() if place.failures == PATIENT else [])

    def _try_another(self) -> list[Directed]:
        """Connect to a node that was named, the next one each time."""
        for url in list(self._known):
            self._known.append(self._known.pop(0))
            if connecting := self._connect(url)[1]:
                return connecting
        return []

    def _without(self) -> list[Directed]:
        """Have other matches played than those of nodes that can't be reached for long."""
        gone = {place.node for place in self._places.values() if place.failures >= PATIENT}
        return self._directed(self._talk.without({match for match, node in self._matches.items() if node in gone}))

    def refused(self, place: _Place, fault: Fault) -> list[Directed]:
        """A node would refuse the next connection as well: for the first of them that is the end.

        Raises the fault where that one's URL is none.
        """
        if place is not self._first:
            place.failures = max(place.failures, TRIES)
            return [self._talk.trouble(str(fault)), *self.unreached(place)]
        if isinstance(fault, UsageFault):
            raise fault
        return [self._talk.trouble(str(fault)), Stop(1)]

    def _end_seeks(self, place: _Place, why: str) -> list[Directed]:
        """Have what is sought of a node sought anew."""
        place.waiting.clear()
        effects: list[Directed] = []
        for name in [name for name, sought in self._seeks.items() if sought.place is place]:
            del self._seeks[name]
            error = messages.Error(code=UNAVAILABLE, message=why, ref=name)
            effects += self._directed(self._talk.receive(error, 0.0))
        return effects

    def _welcomed(self, place: _Place, welcome: messages.Welcome, now: float) -> list[Directed]:
        """A connection stands. What goes on elsewhere was not ended, as far as anybody knows."""
        was_gone = place.failures >= PATIENT
        place.up, place.failures, place.node = True, 0, welcome.url or place.url
        going_on = {other.node for other in self._places.values() if other.up} | {*welcome.elsewhere}
        self._matches.update(dict.fromkeys(welcome.resumed, place.node))
        self._talk.kept = {match for match, node in self._matches.items() if node != place.node and node in going_on}
        self._matches = {
            match: node for match, node in self._matches.items() if match in self._talk.kept or match in welcome.resumed
        }
        self._known = [] if self._stays else [url for url in welcome.nodes if self._refusal(url) is None][:MAX_NODES]
        others = [] if self._stays else welcome.elsewhere
        connecting: list[Directed] = []
        for url in others:
            connecting += self._connect(url)[1]
        if place is self._first:
            connecting += self._merge()
        waiting, place.waiting = place.waiting, []
        effects = self._without() if was_gone else []
        effects += self._directed(self._talk.receive(welcome, now))
        return [*connecting, *effects, *(To(place.url, seek) for seek in waiting)]

    def _merge(self) -> list[Directed]:
        """The first URL leads now to a node that has a connection of its own: one of them is enough."""
        twin = self._twin(self._first)
        if twin is None:
            return []
        del self._places[twin.url]
        self._first.merged = True
        self._pairing = {game: self._first if at is twin else at for game, at in self._pairing.items()}
        for sought in self._seeks.values():
            if sought.place is twin:
                sought.place = self._first
                self._first.waiting.append(sought.seek)
        return [Disconnect(twin.url)]

    def _sent_on(self, error: messages.Error, url: str, now: float) -> list[Directed]:
        """Another node is the right one: for a seek, or, without one, for a match that begins there."""
        sought = self._seeks.get(error.ref or "")
        if sought is None:
            return [] if self._stays else self._connect(url)[1]
        sought.sent_on += 1
        if self._stays or sought.sent_on > MOST_SENT_ON:
            del self._seeks[sought.seek.id]
            later = messages.Error(code=UNAVAILABLE, message=error.message, ref=error.ref)
            effects = self._directed(self._talk.receive(later, now))
            return [effect for effect in effects if not (self._stays and isinstance(effect, Say))]
        place, effects = self._connect(url)
        if place is None:
            del self._seeks[sought.seek.id]
            later = messages.Error(code=UNAVAILABLE, message=error.message, ref=error.ref)
            return effects + self._directed(self._talk.receive(later, now))
        sought.place = self._pairing[sought.seek.game] = place
        return effects + self._ask(sought)

    def _refusal(self, url: str) -> str | None:
        return refusal(url, self._first.url, self._hosts)

    def _connect(self, url: str) -> tuple[_Place | None, list[Directed]]:
        """Return the node at a URL, and what is to be done to be connected to it; None where it is not followed."""
        place = self._place(url)
        if place is not None:
            return place, []
        why = self._refusal(url)
        if why is None and len(self._places) > MAX_NODES:
            why = f"it is connected to {MAX_NODES} nodes already, and that is as many as an arena may have"
        if why is not None:
            if why in self._complaints or len(self._complaints) >= MAX_COMPLAINTS:
                return None, []
            self._complaints.add(why)
            return None, [self._talk.trouble(f"a node that the arena names is left out: {why}")]
        self._places[url] = place = _Place(url, url)
        return place, [Connect(url)]

    def _place(self, url: str) -> _Place | None:
        """The node that is connected to by a URL, or calls itself so."""
        return next((place for place in self._places.values() if url in (place.url, place.node)), None)

    def _ask(self, sought: _Sought) -> list[Directed]:
        if sought.place.up:
            return [To(sought.place.url, sought.seek)]
        sought.place.waiting.append(sought.seek)
        return []

    def _directed(self, effects: Sequence[Effect]) -> list[Directed]:
        directed: list[Directed] = []
        for effect in effects:
            directed += self._direct(effect) if isinstance(effect, FromClient) else [effect]
        return directed

    def _direct(self, message: FromClient) -> list[Directed]:
        """Over which connection a message goes. What belongs to a match whose node is away its seat says again."""
        if isinstance(message, messages.Seek):
            place = self._pairing.get(message.game) or self._here()
            self._seeks[message.id] = sought = _Sought(message, place)
            return self._ask(sought)
        if isinstance(message, messages.Unseek):
            return self._unseek(message)
        if isinstance(message, messages.Warming):
            return [To(place.url, message) for place in self._places.values() if place.up]
        if isinstance(message, (messages.Ready, messages.Move, messages.Resign)):
            node = self._matches.get(message.match)
            return [To(place.url, message) for place in self._places.values() if place.up and place.node == node]
        place = self._here()
        return [To(place.url, message)] if place.up else []

    def _unseek(self, message: messages.Unseek) -> list[Directed]:
        sought = self._seeks.get(message.id)
        place = self._here() if sought is None else sought.place
        if place.up:
            return [To(place.url, message)]
        place.waiting = [seek for seek in place.waiting if seek.id != message.id]
        self._seeks.pop(message.id, None)
        return self._directed(self._talk.receive(messages.Unseeked(id=message.id), 0.0))

    def _here(self) -> _Place:
        """The first node, or another one while that is away."""
        up = [place for place in self._places.values() if place.up]
        return self._first if self._first.up or not up else up[0]


class NodeTalk:
    """What is said over the connection to one node, and what comes of it."""

    def __init__(self, nodes: Nodes, place: _Place) -> None:
        self._nodes = nodes
        self._place = place

    def hello(self) -> messages.Hello:
        """The first message of every connection."""
        return self._nodes.hello()

    def receive(self, message: FromServer | None, now: float) -> list[Directed]:
        """What to do about a message that came in at `now` (`time.monotonic()`)."""
        return self._nodes.receive(self._place, message, now)

    def lost(self, code: int) -> list[Directed]:
        """The connection ended with this close code."""
        return self._nodes.lost(self._place, code)

    def ended(self, code: int) -> str:
        """How the connection ended, in the arena's words where it said why."""
        return self._nodes.ended(self._place, code)

    @property
    def others_up(self) -> bool:
        """Whether another connection stands."""
        return self._nodes.others_up(self._place)

    def refused(self, fault: Fault) -> list[Directed]:
        """No connection could be made, nor will be. Raises the fault where the URL is none."""
        return self._nodes.refused(self._place, fault)

    def unreached(self) -> list[Directed]:
        """No connection could be made."""
        return self._nodes.unreached(self._place)
