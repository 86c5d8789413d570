"""Who may connect: what is looked at when a connection comes, and when its request was read."""

from __future__ import annotations

import hmac
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus

from msgspec import Struct

from arena.network.addresses import Network, OwnPage, Proxies, address_of, is_loopback, misdirected, page_may_connect
from arena.network.connection_limits import Bounds, ConnectionLimits, ConnectionSlot
from arena.network.rate_limits import FREE_FAILURES, LONGEST_WAIT, FailureBackoff
from machine.token_bucket import TokenBucket
from protocol.codec import CODECS
from protocol.display import shown

OPERATOR = "arena.operator"
"""The subprotocol of who runs the arena."""
FORWARDED_FOR = "X-Forwarded-For"
COME_BACK_AFTER = 5
"""Seconds that a client is told to wait when there are too many."""
ARRIVALS_AT_ONCE, ARRIVALS_PER_SECOND = 20, 10.0
"""From an address: so many beside two for each connection that it may have, then so many a second."""

_HOST = re.compile(r"[A-Za-z0-9.\[\]:-]+")
"""One that can be shown as it is."""
_BEARER = re.compile(rb"\r\nauthorization: *bearer ([^\r\n]*)\r\n", re.IGNORECASE)
_END = b"\r\n\r\n"

log = logging.getLogger("arena.network.admission")


class Access(Struct, frozen=True, kw_only=True):
    """Who may connect: so many, also for whom these proxies speak, pages of these origins, and the arena's own page.

    `operator` is the token of who runs the arena, None where nobody may come in as that.
    """

    bounds: Bounds = Bounds()
    proxies: tuple[Network, ...] = ()
    origins: tuple[str, ...] = ()
    page: OwnPage | None = None
    operator: str | None = None


class ConnectionRequest(Struct, frozen=True, kw_only=True):
    """A request, and between which hosts. `header(name)` are the values of a header, one for each time it was sent."""

    method: str
    header: Callable[[str], list[str]]
    peer: str
    local: str
    address: str | None = None
    """Whose it is, where that is known without the request."""
    operators: bool = False
    """Whether it came in where operators alone may."""

    def value(self, name: str) -> str:
        """A header as one text; empty if it is missing."""
        return ", ".join(self.header(name))

    @property
    def offered(self) -> list[str]:
        """The subprotocols."""
        return [name.strip() for name in self.value("Sec-WebSocket-Protocol").split(",")]


class Refusal(Struct, frozen=True):
    """How a request is answered that does not become a connection: a line of text, and headers."""

    status: HTTPStatus
    text: str
    headers: dict[str, str] = {}


class Admission:
    """Lets connections in; `refused` is told whom it does not, and why."""

    def __init__(self, access: Access, refused: Callable[[str, str], None] = lambda address, why: None) -> None:
        self._refused = refused
        self.refusals: Counter[str] = Counter()
        """How many requests were refused, by the status of HTTP, and connections without a word, as `unanswered`."""
        self.places = ConnectionLimits(access.bounds)
        self._arrivals = TokenBucket(ARRIVALS_AT_ONCE + 2 * access.bounds.per_address, ARRIVALS_PER_SECOND)
        self._proxies = Proxies(access.proxies)
        self._access = access
        self._failures = FailureBackoff(LONGEST_WAIT, free=FREE_FAILURES)
        self._warned = False

    def arrive(self, peer: str, address: str | None = None, *, operators: bool = False) -> ConnectionSlot | None:
        """A place for a connection that was accepted just now; None: it is refused without a word, the cheapest way.

        `address` is whose it is, where that is known without asking. Where `operators` come in nobody comes too often:
        anybody on the machine could keep them out so. There it is a stranger's until `recognize` sees the token.
        """
        address = address or address_of(peer)
        if operators:
            address = f"strangers to {address}"
        shared = self._proxies.trusts(peer)
        if not (shared or operators) and self._arrivals.take(address, time.monotonic()):
            self.refusals["unanswered"] += 1
            return None
        return self.places.take(address, shared=shared)

    def recognize(self, request: bytes, place: ConnectionSlot, address: str) -> None:
        """Give a connection the place of an operator, `address`, if its request is whole and has the token.

        It is looked at before anything else is done: what strangers cost, and how many they are, is not the operator's.
        """
        found = _BEARER.search(request) if request.endswith(_END) else None
        if found is not None and self._is_operators(found[1]):
            place.move(address)
            place.enter()

    def _is_operators(self, token: bytes) -> bool:
        known = (self._access.operator or "").encode()
        return bool(known) and hmac.compare_digest(token, known)

    def refuse(self, asked: ConnectionRequest, place: ConnectionSlot) -> Refusal | None:
        """Why a request may not become a connection. None: it may, and its place is that of whose it is."""
        if asked.method != "GET":
            return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET is what there is, to open a WebSocket", {"Allow": "GET"})
        if "websocket" not in asked.value("Upgrade").lower():
            return self._not_for_browsers(asked)
        shared = self._proxies.trusts(asked.peer)
        address = asked.address or self._proxies.origin(asked.peer, asked.header(FORWARDED_FOR))
        refusal = self._check_origin(asked, shared) or self._check_operator(asked, address)
        if refusal is None and not asked.operators:  # whom the crowd of all others does not keep out
            refusal = self._check_limits(asked, address, place, shared)
        if refusal is not None:
            self.refusals[str(refusal.status.value)] += 1
            self._refused(address, refusal.text)
        return refusal

    def _not_for_browsers(self, asked: ConnectionRequest) -> Refusal:
        """What this is, and where the page is: in words for a person, as a link for a program."""
        text = "this is a Bot Arena: programs play here over WebSocket, and a browser shows nothing"
        headers = {"Upgrade": "websocket"}
        host = asked.value("Host")
        if self._access.page is not None and _HOST.fullmatch(host):
            page = f"{self._access.page.on(host)}/"
            text += f"; people look at {page}"
            headers["Link"] = f'<{page}>; rel="alternate"'
        return Refusal(HTTPStatus.UPGRADE_REQUIRED, text, headers)

    def _check_origin(self, asked: ConnectionRequest, shared: bool) -> Refusal | None:
        """Why it may come from a page on the web that has no business here, or speaks in another language."""
        host, origin = asked.value("Host"), asked.value("Origin")
        wrong = None if shared else misdirected(host, asked.local)
        if wrong is not None:
            return Refusal(HTTPStatus.MISDIRECTED_REQUEST, wrong)
        if origin and OPERATOR in asked.offered:
            return Refusal(HTTPStatus.FORBIDDEN, f"{OPERATOR} is for programs: web pages may not operate an arena")
        if origin and not page_may_connect(origin, host, self._access.origins, self._access.page):
            text = f"pages of {shown(origin)} may not connect; the operator lets them with --allow-origin"
            return Refusal(HTTPStatus.FORBIDDEN, text)
        known = {*CODECS} if self._access.operator is None else {*CODECS, OPERATOR}
        if asked.offered != [""] and not known & {*asked.offered}:
            text = f"none of the subprotocols is known here: offer one of {', '.join(CODECS)}"
            return Refusal(HTTPStatus.BAD_REQUEST, text)
        return None

    def _check_operator(self, asked: ConnectionRequest, address: str) -> Refusal | None:
        """Why it may not come in as the operator, if it wants to."""
        if OPERATOR not in asked.offered:
            text = f"operators alone come in here: offer the subprotocol {OPERATOR}"
            return Refusal(HTTPStatus.FORBIDDEN, text) if asked.operators else None
        kind, _, token = asked.value("Authorization").partition(" ")
        if kind.lower() == "bearer" and self._is_operators(token.encode(errors="surrogateescape")):
            return None  # whatever others brought from there: it is one of 256 bits, which nobody guesses
        wait = self._failures.wait(address, time.monotonic())
        if wait and not asked.operators:
            seconds = math.ceil(wait)
            text = f"too many wrong tokens came from {address}: come back in {seconds} s"
            return Refusal(HTTPStatus.TOO_MANY_REQUESTS, text, {"Retry-After": str(seconds)})
        self._failures.fail(address, time.monotonic())
        text = "the operator's token is missing or wrong: it is the one that operator.json had when the server started"
        return Refusal(HTTPStatus.UNAUTHORIZED, text, {"WWW-Authenticate": "Bearer"})

    def _check_limits(
        self, asked: ConnectionRequest, address: str, place: ConnectionSlot, shared: bool
    ) -> Refusal | None:
        """Why there are too many for now. None: the connection is seated."""
        forwarded = asked.header(FORWARDED_FOR)
        if forwarded and not shared and is_loopback(asked.peer) and not self._warned:
            self._warned = True
            log.warning(
                "a proxy at %s passes connections on, which all count as its own: see --trusted-proxy", asked.peer
            )
        wait = self._arrivals.take(address, time.monotonic()) if shared else 0.0
        full = f"{address} connects too often" if wait else place.seat(address)
        if full is None:
            return None
        return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, full, {"Retry-After": str(COME_BACK_AFTER)})
