"""One conversation with an arena of several nodes: routes each message to a connection and merges what they receive.

A seek goes to the node that pairs its game, once that is known; a match is played where it began. No sockets here.
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
"""The close code of a connection that broke."""
TRIES = 3
"""Failed tries after which a node gets no new requests until it is back."""
PATIENT = 7
"""Failed tries, about five seconds, after which the slots of a node's matches are used for others."""
MAX_COMPLAINTS = 4
"""The most reasons reported for ignoring nodes, so that a server cannot flood the terminal."""
MOST_SENT_ON = 4
"""Times that a seek is sent on to another node. Then it is tried again later, as nodes may be changing."""


@dataclass(frozen=True, slots=True)
class To:
    """Send a message over the connection to a URL."""

    url: str
    message: FromClient


@dataclass(frozen=True, slots=True)
class Connect:
    """Connect to this URL as well."""

    url: str


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection to this URL for good."""

    url: str


Directed = Effect | To | Connect | Disconnect
"""An effect to perform. A message is wrapped in a `To` that names its connection."""


@dataclass(slots=True)
class _Place:
    """A node that is or will be connected: its own name, and the seeks to send once it is connected."""

    url: str
    node: str
    up: bool = False
    merged: bool = False
    """True if it took over from another connection of ours, which may not have been open yet."""
    failures: int = 0
    waiting: list[messages.Seek] = field(default_factory=list)


@dataclass(slots=True)
class _Sought:
    seek: messages.Seek
    place: _Place
    sent_on: int = 0


class Nodes:
    """Lets `talk` use all nodes of an arena as if they were one. `first` is the given URL; with `stays` it is the only
    one. Others are on the same host or on `hosts`.
    """

    def __init__(self, talk: Talk, first: str, *, stays: bool = False, hosts: tuple[str, ...] = ()) -> None:
        self._stays = stays
        self._hosts = hosts
        self._complaints: set[str] = set()
        """The reasons for ignoring nodes that were reported; at most `MAX_COMPLAINTS`."""
        self._talk = talk
        self._first = _Place(first, first)
        self._places = {first: self._first}
        """Nodes by URL."""
        self._pairing: dict[str, _Place] = {}
        """The node that pairs each game, as far as known."""
        self._seeks: dict[str, _Sought] = {}
        """The seeks in force by id."""
        self._known: list[str] = []
        """The URLs of other nodes as last named, for use when no connected node can be reached."""
        self._matches: dict[str, str] = {}
        """The name of the node on which each match is played."""

    def at(self, url: str) -> NodeTalk:
        """Return the protocol for the connection to a URL."""
        return NodeTalk(self, self._places[url])

    def take(self, step: Callable[[], list[Effect]]) -> list[Directed]:
        """Take a step of the conversation and route its effects."""
        return self._directed(step())

    def hello(self) -> messages.Hello:
        """Return the first message of every connection."""
        return self._talk.hello()

    def receive(self, place: _Place, message: FromServer | None, now: float) -> list[Directed]:
        """Return the effects of a message from a node."""
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
        """Return the effects of a lost connection. What belongs to other connections continues."""
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
        """Return whether the newer connection may be our own: through a proxy, the first URL leads to any node."""
        merged, place.merged = place.merged, False
        first_comes = place is not self._first and not self._first.up
        return first_comes or merged or self._twin(place) is not None

    def _twin(self, place: _Place) -> _Place | None:
        """Return another connection to the same node, if there is one."""
        return next((other for other in self._places.values() if other is not place and other.node == place.node), None)

    def others_up(self, place: _Place) -> bool:
        """Return whether a connection other than this one is open."""
        return any(other.up for other in self._places.values() if other is not place)

    def ended(self, place: _Place, code: int) -> str:
        """Return how a connection ended, in the arena's words if it gave a reason."""
        self._talk.at = place.url
        return self._talk.ended(code)

    def unreached(self, place: _Place) -> list[Directed]:
        """Count another failed try. After `TRIES`, other nodes get the requests to this one."""
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
        """Connect to another node that the arena named, the next one each time."""
        for url in list(self._known):
            self._known.append(self._known.pop(0))
            if connecting := self._connect(url)[1]:
                return connecting
        return []

    def _without(self) -> list[Directed]:
        """Free the slots of matches whose nodes have been unreachable for long."""
        gone = {place.node for place in self._places.values() if place.failures >= PATIENT}
        return self._directed(self._talk.without({match for match, node in self._matches.items() if node in gone}))

    def refused(self, place: _Place, fault: Fault) -> list[Directed]:
        """Handle a node that would refuse the next connection as well. If it is the first node, the bot stops.

        Raises the fault if that node's URL is invalid.
        """
        if place is not self._first:
            place.failures = max(place.failures, TRIES)
            return [self._talk.trouble(str(fault)), *self.unreached(place)]
        if isinstance(fault, UsageFault):
            raise fault
        return [self._talk.trouble(str(fault)), Stop(1)]

    def _end_seeks(self, place: _Place, why: str) -> list[Directed]:
        """Report the seeks of a node as unavailable, so that they are made again."""
        place.waiting.clear()
        effects: list[Directed] = []
        for name in [name for name, sought in self._seeks.items() if sought.place is place]:
            del self._seeks[name]
            error = messages.Error(code=UNAVAILABLE, message=why, ref=name)
            effects += self._directed(self._talk.receive(error, 0.0))
        return effects

    def _welcomed(self, place: _Place, welcome: messages.Welcome, now: float) -> list[Directed]:
        """Handle a new connection. Matches on other nodes are assumed to continue."""
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
        """Drop the other connection to the node that the first URL now leads to."""
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
        """Follow a redirect to another node, for a seek or, without one, for a match that begins there."""
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
        """Return the node at a URL, None if it is not followed, and the effects that connect to it."""
        place = self._place(url)
        if place is not None:
            return place, []
        why = self._refusal(url)
        if why is None and len(self._places) >= MAX_NODES:
            why = f"it is connected to {MAX_NODES} nodes already, and that is as many as an arena may have"
        if why is not None:
            if why in self._complaints or len(self._complaints) >= MAX_COMPLAINTS:
                return None, []
            self._complaints.add(why)
            return None, [self._talk.trouble(f"a node that the arena names is left out: {why}")]
        self._places[url] = place = _Place(url, url)
        return place, [Connect(url)]

    def _place(self, url: str) -> _Place | None:
        """Return the connected node that has this URL or this name."""
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
        """Route a message to its connection. If a match's node is away, drop its messages: its seat repeats them."""
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
        """Return the first node, or another one while the first is away."""
        up = [place for place in self._places.values() if place.up]
        return self._first if self._first.up or not up else up[0]


class NodeTalk:
    """The protocol for the connection to one node."""

    def __init__(self, nodes: Nodes, place: _Place) -> None:
        self._nodes = nodes
        self._place = place

    def hello(self) -> messages.Hello:
        """Return the first message of the connection."""
        return self._nodes.hello()

    def receive(self, message: FromServer | None, now: float) -> list[Directed]:
        """Return the effects of a message that arrived at `now` (`time.monotonic()`)."""
        return self._nodes.receive(self._place, message, now)

    def lost(self, code: int) -> list[Directed]:
        """Return the effects of the connection's end with this close code."""
        return self._nodes.lost(self._place, code)

    def ended(self, code: int) -> str:
        """Return how the connection ended, in the arena's words if it gave a reason."""
        return self._nodes.ended(self._place, code)

    @property
    def others_up(self) -> bool:
        """True if another connection is open."""
        return self._nodes.others_up(self._place)

    def refused(self, fault: Fault) -> list[Directed]:
        """Return the effects of a refused connection. Raises the fault if the URL is invalid."""
        return self._nodes.refused(self._place, fault)

    def unreached(self) -> list[Directed]:
        """Return the effects of a failed try to connect."""
        return self._nodes.unreached(self._place)
