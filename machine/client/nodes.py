"""Routing of messages if an arena has several nodes. A message from the client goes to one node's connection; messages
from all nodes go to the client's one conversation.

A seek goes to the node that pairs its game, once that node is known. A match is played, and watched, on the node where
it began. No sockets here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from machine.client.client_protocol import STOPPING_CODES, ClientProtocol, Effect, PrintLine
from machine.client.node_urls import MAX_NODES, find_refusal
from protocol import messages
from protocol.close_codes import SUPERSEDED
from protocol.error_codes import ELSEWHERE, UNAVAILABLE
from protocol.errors import Fault, UsageFault
from protocol.messages import FromClient, FromServer

ABNORMAL_CLOSURE = 1006
"""The close code of a WebSocket connection that broke."""
MAX_ATTEMPTS = 3
"""The number of failed tries to connect after which a node gets no new requests until it is connected again."""
ATTEMPTS_BEFORE_FAILOVER = 7
"""The number of failed tries to connect to a node after which the slots of the matches on this node are free for other
matches. These tries take about five seconds."""
MAX_COMPLAINTS = 4
"""The maximum number of reports on ignored nodes, so that a server cannot flood the terminal."""
MAX_REDIRECTS = 4
"""The maximum number of redirects that a request follows without a delay. After more redirects, the nodes may be
changing, so a seek is tried again later."""


@dataclass(frozen=True, slots=True)
class SendTo:
    """An effect: send a message over the connection to a URL."""

    url: str
    message: FromClient


@dataclass(frozen=True, slots=True)
class Connect:
    """An effect: open another connection, to this URL."""

    url: str


@dataclass(frozen=True, slots=True)
class CloseConnection:
    """An effect: close the connection to this URL for good."""

    url: str


@dataclass(slots=True, eq=False)
class ArenaNode:
    """A node that is or will be connected. `name` is the URL that the node calls its own."""

    url: str
    name: str
    is_connected: bool = False
    merged: bool = False
    """True if this connection has just replaced another of the bot's connections to the same node."""
    failures: int = 0


@dataclass(slots=True)
class _Request:
    """A seek or watch, and the node to which it is sent: at once, or when the node is connected."""

    message: messages.Seek | messages.Watch
    node: ArenaNode
    redirects: int = 0

    @property
    def key(self) -> str:
        """The `ref` of the answers to this request."""
        return self.message.id if isinstance(self.message, messages.Seek) else self.message.match


class NodeRouter:
    """Lets the conversation `protocol` use all nodes of an arena as if they were one node. With `single_node`, the
    client connects to no other URL than the one that the user gave. Other nodes must be on the host of that URL or on
    one of `hosts`.
    """

    def __init__(self, protocol: ClientProtocol, *, single_node: bool = False, hosts: tuple[str, ...] = ()) -> None:
        self._stays = single_node
        self._hosts = hosts
        self._complaints: set[str] = set()
        """The reported reasons for ignoring nodes, at most `MAX_COMPLAINTS`."""
        self.protocol = protocol
        self.url = protocol.url
        """The URL that the user gave."""
        self._first = ArenaNode(self.url, self.url)
        self._nodes = {self.url: self._first}
        """The known nodes, by the URL of the connection."""
        self._pairing: dict[str, ArenaNode] = {}
        """The node that pairs a game, if it is known, by game."""
        self._requests: dict[str, _Request] = {}
        """The open seeks by their ids, and the watched matches by theirs."""
        self._named_urls: list[str] = []
        """The URLs of nodes that the arena named last, to be tried when no known node can be reached."""
        self._matches: dict[str, str] = {}
        """The name of the node on which a match is played, by match. A spectator's are those that nodes have listed."""

    def node_at(self, url: str) -> ArenaNode:
        """Return the node of the connection to a URL. The methods for this connection take it."""
        return self._nodes[url]

    def patience_for(self, node: ArenaNode) -> float | None:
        """Return the seconds without a connection after which the client gives up; None if it tries for ever, as it
        does to connect to nodes other than the first.
        """
        return self.protocol.patience if node is self._first else None

    def is_reported(self, node: ArenaNode) -> bool:
        """Return whether the user has to know that a node cannot be reached. A spectator asks all nodes for matches,
        but needs only the first one and that of the match which it watches.
        """
        needed = (self._first, *(request.node for request in self._requests.values()))
        return not self.protocol.is_spectator or node in needed

    def run_step(self, step: Callable[[], list[Effect]]) -> list[Effect]:
        """Call `step`, a function of the conversation. Return its effects, with each message assigned to the connection
        over which it is sent.
        """
        return self._route_effects(step())

    def receive(self, node: ArenaNode, message: FromServer | None, now: float) -> list[Effect]:
        """Return the effects of a message that came from a node at `now` (`time.monotonic()`)."""
        self.protocol.url = node.url
        if isinstance(message, messages.Welcome):
            return self._welcomed(node, message, now)
        if isinstance(message, messages.Error):
            if message.code == ELSEWHERE and message.url is not None:
                return self._follow_redirect(message, message.url, now)
            self._requests.pop(message.ref or "", None)
        elif isinstance(message, messages.Unseeked):
            self._requests.pop(message.id, None)
        elif isinstance(message, messages.Start) and message.seat is not None:
            self._matches[message.match] = node.name
            self._requests.pop(message.seek or "", None)
        connecting: list[Effect] = []
        if isinstance(message, messages.Listing) and self.protocol.is_spectator:
            self._matches.update((listed.match, node.name) for listed in message.matches)
            connecting = [effect for url in message.elsewhere for effect in self._connect(url)[1]]
        effects = self._route_effects(self.protocol.receive(message, now))
        if isinstance(message, messages.End):
            self._matches.pop(message.match, None)
            self._requests.pop(message.match, None)
        return connecting + effects

    def handle_lost(self, node: ArenaNode, code: int) -> list[Effect]:
        """Return the effects of a lost connection. Seeks and matches on other connections continue."""
        self.protocol.url = node.url
        node.is_connected = False
        if code == SUPERSEDED and self._is_own_connection(node):
            code = ABNORMAL_CLOSURE
        if code in STOPPING_CODES or not any(other.is_connected for other in self._nodes.values()):
            self._requests.clear()
            return self._route_effects(self.protocol.handle_lost(code))
        return self._end_requests(node, f"the connection to {node.url} was lost")

    def _is_own_connection(self, node: ArenaNode) -> bool:
        """Return whether the newer connection that replaced this one may be the bot's own. Behind a proxy, the first
        URL may lead to any node, so the bot may connect to a node twice.
        """
        merged, node.merged = node.merged, False
        first_comes = node is not self._first and not self._first.is_connected
        return first_comes or merged or self._find_duplicate(node) is not None

    def _find_duplicate(self, node: ArenaNode) -> ArenaNode | None:
        return next((other for other in self._nodes.values() if other is not node and other.name == node.name), None)

    def is_other_connected(self, node: ArenaNode) -> bool:
        """Return whether a connection other than this one is open."""
        return any(other.is_connected for other in self._nodes.values() if other is not node)

    def describe_end(self, node: ArenaNode, code: int) -> str:
        """Return in words how a connection ended: the arena's words if it gave a reason."""
        self.protocol.url = node.url
        return self.protocol.describe_end(code)

    def handle_failed_attempt(self, node: ArenaNode) -> list[Effect]:
        """Count another failed try to connect. After `MAX_ATTEMPTS`, requests for this node go to other nodes."""
        node.failures += 1
        if node.failures < MAX_ATTEMPTS:
            return []
        self._pairing = {game: at for game, at in self._pairing.items() if at is not node}
        effects: list[Effect] = []
        if node is not self._first and node.name not in self._matches.values():
            del self._nodes[node.url]
            effects.append(CloseConnection(node.url))
        elif node is self._first and all(other.failures >= MAX_ATTEMPTS for other in self._nodes.values()):
            effects += self._try_another()
        effects += self._end_requests(node, f"{node.url} can't be reached")
        return effects + (self._free_slots() if node.failures == ATTEMPTS_BEFORE_FAILOVER else [])

    def _try_another(self) -> list[Effect]:
        """Connect to another of the nodes that the arena named: at each call, to the next one in the list."""
        for url in list(self._named_urls):
            self._named_urls.append(self._named_urls.pop(0))
            if connecting := self._connect(url)[1]:
                return connecting
        return []

    def _free_slots(self) -> list[Effect]:
        """Free the slots of matches on nodes that are unreachable for long. Other matches can then use them."""
        gone = {place.name for place in self._nodes.values() if place.failures >= ATTEMPTS_BEFORE_FAILOVER}
        return self._route_effects(
            self.protocol.set_unreachable({match for match, node in self._matches.items() if node in gone})
        )

    def handle_refusal(self, node: ArenaNode, fault: Fault) -> list[Effect]:
        """Handle `fault`, with which a node refuses the connection for good. If the node is the first one, stop the
        bot, or raise `fault` if the node's URL is invalid. Any other node is treated as unreachable.
        """
        if node is not self._first:
            node.failures = max(node.failures, MAX_ATTEMPTS)
            told = [self.protocol.make_error_line(str(fault))] if self.is_reported(node) else []
            return [*told, *self.handle_failed_attempt(node)]
        if isinstance(fault, UsageFault):
            raise fault
        return self.protocol.give_up(str(fault))

    def _end_requests(self, node: ArenaNode, why: str) -> list[Effect]:
        """Tell the conversation that a node's seeks are unavailable, so that it makes the seeks again. Ask another node
        for the node's watched matches, which may have moved.
        """
        effects: list[Effect] = []
        for name, sought in [(name, sought) for name, sought in self._requests.items() if sought.node is node]:
            del self._requests[name]
            if isinstance(sought.message, messages.Watch):
                self._matches.pop(name, None)
                effects += self._route_message(sought.message)
                continue
            error = messages.Error(code=UNAVAILABLE, message=why, ref=name)
            effects += self._route_effects(self.protocol.receive(error, 0.0))
        return effects

    def _welcomed(self, node: ArenaNode, welcome: messages.Welcome, now: float) -> list[Effect]:
        """Handle the welcome on a new connection. Matches on other known nodes are assumed to continue."""
        was_gone = node.failures >= ATTEMPTS_BEFORE_FAILOVER
        node.is_connected, node.failures, node.name = True, 0, welcome.url or node.url
        going_on = {other.name for other in self._nodes.values() if other.is_connected} | {*welcome.elsewhere}
        self._matches.update(dict.fromkeys(welcome.resumed, node.name))
        self.protocol.matches_elsewhere = {
            match for match, name in self._matches.items() if name != node.name and name in going_on
        }
        self._matches = {
            match: name
            for match, name in self._matches.items()
            if match in self.protocol.matches_elsewhere or match in welcome.resumed
        }
        self._named_urls = (
            [] if self._stays else [url for url in welcome.nodes if self._refusal(url) is None][:MAX_NODES]
        )
        others = [] if self._stays else welcome.elsewhere
        connecting: list[Effect] = []
        for url in others:
            connecting += self._connect(url)[1]
        if node is self._first:
            connecting += self._drop_duplicate()
        waiting = [request.message for request in self._requests.values() if request.node is node]
        effects = self._free_slots() if was_gone else []
        effects += self._route_effects(self.protocol.receive(welcome, now))
        return [*connecting, *effects, *(SendTo(node.url, request) for request in waiting)]

    def _drop_duplicate(self) -> list[Effect]:
        """If another connection leads to the same node as the first URL, drop that connection."""
        twin = self._find_duplicate(self._first)
        if twin is None:
            return []
        del self._nodes[twin.url]
        self._first.merged = True
        self._pairing = {game: self._first if at is twin else at for game, at in self._pairing.items()}
        for sought in self._requests.values():
            if sought.node is twin:
                sought.node = self._first
        return [CloseConnection(twin.url)]

    def _follow_redirect(self, error: messages.Error, url: str, now: float) -> list[Effect]:
        """Connect to the node that a redirect names. If the redirect is for a request, send the request there.
        Otherwise a match of the bot begins there, and connecting is enough.
        """
        sought = self._requests.get(error.ref or "")
        if sought is None:
            return [] if self._stays else self._connect(url)[1]
        sought.redirects += 1
        is_followed = not self._stays and sought.redirects <= MAX_REDIRECTS
        place, effects = self._connect(url) if is_followed else (None, [])
        if place is None:
            del self._requests[sought.key]
            later = messages.Error(code=UNAVAILABLE, message=error.message, ref=error.ref)
            effects += self._route_effects(self.protocol.receive(later, now))
            return [effect for effect in effects if not (self._stays and isinstance(effect, PrintLine))]
        sought.node = place
        if isinstance(sought.message, messages.Seek):
            self._pairing[sought.message.game] = place
        else:
            self._matches[sought.key] = place.name
        return effects + self._send_request(sought)

    def _refusal(self, url: str) -> str | None:
        trusted = url if self.protocol.is_spectator else self._first.url  # a spectator has no token to protect
        return find_refusal(url, trusted, self._hosts)

    def _connect(self, url: str) -> tuple[ArenaNode | None, list[Effect]]:
        """Return the node at a URL (None if the bot does not connect to it) and the effects that connect to it."""
        place = self._find_node(url)
        if place is not None:
            return place, []
        why = self._refusal(url)
        if why is None and len(self._nodes) >= MAX_NODES:
            why = f"it is already connected to {MAX_NODES} nodes, the maximum of an arena"
        if why is not None:
            if why in self._complaints or len(self._complaints) >= MAX_COMPLAINTS:
                return None, []
            self._complaints.add(why)
            return None, [self.protocol.make_error_line(f"a node of the arena is ignored: {why}")]
        self._nodes[url] = place = ArenaNode(url, url)
        return place, [Connect(url)]

    def _find_node(self, url: str) -> ArenaNode | None:
        """Return the node at this URL; None if there is none. The URL may be that of the connection, or the one that
        the node calls its own.
        """
        return next((place for place in self._nodes.values() if url in (place.url, place.name)), None)

    def _send_request(self, request: _Request) -> list[Effect]:
        return [SendTo(request.node.url, request.message)] if request.node.is_connected else []

    def _route_effects(self, effects: Sequence[Effect]) -> list[Effect]:
        directed: list[Effect] = []
        for effect in effects:
            directed += self._route_message(effect) if isinstance(effect, FromClient) else [effect]
        return directed

    def _route_message(self, message: FromClient) -> list[Effect]:
        """Return the effects that send a message over the right connection. A message about a match is dropped if the
        match's node is not connected, because the seat repeats it later.
        """
        if isinstance(message, (messages.Seek, messages.Watch)):
            known = (
                self._pairing.get(message.game)
                if isinstance(message, messages.Seek)
                else self._find_node(self._matches.get(message.match, ""))
            )
            request = _Request(message, known or self._default_node())
            self._requests[request.key] = request
            return self._send_request(request)
        if isinstance(message, messages.Unseek):
            return self._unseek(message)
        if isinstance(message, messages.Warming) or (isinstance(message, messages.List) and self.protocol.is_spectator):
            return [SendTo(place.url, message) for place in self._nodes.values() if place.is_connected]
        if isinstance(message, (messages.Ready, messages.Move, messages.Resign)):
            node = self._matches.get(message.match)
            return [
                SendTo(place.url, message)
                for place in self._nodes.values()
                if place.is_connected and place.name == node
            ]
        place = self._default_node()
        return [SendTo(place.url, message)] if place.is_connected else []

    def _unseek(self, message: messages.Unseek) -> list[Effect]:
        sought = self._requests.get(message.id)
        place = self._default_node() if sought is None else sought.node
        if place.is_connected:
            return [SendTo(place.url, message)]
        self._requests.pop(message.id, None)
        return self._route_effects(self.protocol.receive(messages.Unseeked(id=message.id), 0.0))

    def _default_node(self) -> ArenaNode:
        """Return the first node if it is connected, else another node that is connected, if there is one."""
        up = [place for place in self._nodes.values() if place.is_connected]
        return self._first if self._first.is_connected or not up else up[0]
