"""Decides who may connect: once when a connection is accepted, and again when its request has been read."""

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
"""The subprotocol of the arena's operator."""
FORWARDED_FOR = "X-Forwarded-For"
COME_BACK_AFTER = 5
"""The `Retry-After` of a refusal for lack of capacity, in seconds."""
ARRIVALS_AT_ONCE, ARRIVALS_PER_SECOND = 20, 10.0
"""Burst and rate per second of new connections from an address. The burst grows with the connections it may have."""

_HOST = re.compile(r"[A-Za-z0-9.\[\]:-]+")
"""A `Host` header that is safe to display."""
_BEARER = re.compile(rb"\r\nauthorization: *bearer ([^\r\n]*)\r\n", re.IGNORECASE)
_END = b"\r\n\r\n"

log = logging.getLogger("arena.network.admission")


class Access(Struct, frozen=True, kw_only=True):
    """The rules for who may connect.

    `proxies` are trusted to report their clients' addresses. Web pages of `origins` and the arena's own `page` may
    connect. `operator` is the operator's token, None if no operator may connect.
    """

    bounds: Bounds = Bounds()
    proxies: tuple[Network, ...] = ()
    origins: tuple[str, ...] = ()
    page: OwnPage | None = None
    operator: str | None = None


class ConnectionRequest(Struct, frozen=True, kw_only=True):
    """A connection's HTTP request and the hosts that it is between. `header(name)` returns all values of a header."""

    method: str
    header: Callable[[str], list[str]]
    peer: str
    local: str
    address: str | None = None
    """The address that counts, if it is known without the request."""
    operators: bool = False
    """True if the connection came through a socket for operators only."""

    def value(self, name: str) -> str:
        """Return a header as one text; "" if it is missing."""
        return ", ".join(self.header(name))

    @property
    def offered(self) -> list[str]:
        return [name.strip() for name in self.value("Sec-WebSocket-Protocol").split(",")]


class Refusal(Struct, frozen=True):
    """The HTTP response to a request that does not become a connection."""

    status: HTTPStatus
    text: str
    headers: dict[str, str] = {}


class Admission:
    """Admits connections. Calls `refused(address, why)` for each request that it refuses."""

    def __init__(self, access: Access, refused: Callable[[str, str], None] = lambda address, why: None) -> None:
        self._refused = refused
        self.refusals: Counter[str] = Counter()
        """The number of refused requests by HTTP status; `unanswered` are connections dropped without an answer."""
        self.places = ConnectionLimits(access.bounds)
        self._arrivals = TokenBucket(ARRIVALS_AT_ONCE + 2 * access.bounds.per_address, ARRIVALS_PER_SECOND)
        self._proxies = Proxies(access.proxies)
        self._access = access
        self._failures = FailureBackoff(LONGEST_WAIT, free=FREE_FAILURES)
        self._warned = False

    def arrive(self, peer: str, address: str | None = None, *, operators: bool = False) -> ConnectionSlot | None:
        """Return a slot for a connection just accepted, or None to drop it without an answer, which costs least.

        `address` is given if it is known without the request. A socket for `operators` has no rate limit: otherwise any
        user of the machine could keep the operator out. Until `recognize` sees the token, it is a stranger's.
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
        """Move a connection to the operator's `address` if its request is complete and has the operator's token.

        This comes before anything else, so that strangers never use up the operator's limits.
        """
        found = _BEARER.search(request) if request.endswith(_END) else None
        if found is not None and self._is_operators(found[1]):
            place.move(address)
            place.enter()

    def _is_operators(self, token: bytes) -> bool:
        known = (self._access.operator or "").encode()
        return bool(known) and hmac.compare_digest(token, known)

    def refuse(self, asked: ConnectionRequest, place: ConnectionSlot) -> Refusal | None:
        """Return why a request may not become a connection; None if it may, and its slot then has the right address."""
        if asked.method != "GET":
            return Refusal(HTTPStatus.METHOD_NOT_ALLOWED, "GET is what there is, to open a WebSocket", {"Allow": "GET"})
        if "websocket" not in asked.value("Upgrade").lower():
            return self._not_for_browsers(asked)
        shared = self._proxies.trusts(asked.peer)
        address = asked.address or self._proxies.origin(asked.peer, asked.header(FORWARDED_FOR))
        refusal = self._check_origin(asked, shared) or self._check_operator(asked, address)
        if refusal is None and not asked.operators:  # other clients must not crowd the operator out
            refusal = self._check_limits(asked, address, place, shared)
        if refusal is not None:
            self.refusals[str(refusal.status.value)] += 1
            self._refused(address, refusal.text)
        return refusal

    def _not_for_browsers(self, asked: ConnectionRequest) -> Refusal:
        """Explain what this port is and where the web page is: in words for people, as a link for programs."""
        text = "this is a Bot Arena: programs play here over WebSocket, and a browser shows nothing"
        headers = {"Upgrade": "websocket"}
        host = asked.value("Host")
        if self._access.page is not None and _HOST.fullmatch(host):
            page = f"{self._access.page.on(host)}/"
            text += f"; people look at {page}"
            headers["Link"] = f'<{page}>; rel="alternate"'
        return Refusal(HTTPStatus.UPGRADE_REQUIRED, text, headers)

    def _check_origin(self, asked: ConnectionRequest, shared: bool) -> Refusal | None:
        """Refuse a foreign web page, an unknown host name or an unknown subprotocol; None if all are fine."""
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
        """Refuse an operator without the right token; None if the token is right, or the client is no operator."""
        if OPERATOR not in asked.offered:
            text = f"operators alone come in here: offer the subprotocol {OPERATOR}"
            return Refusal(HTTPStatus.FORBIDDEN, text) if asked.operators else None
        kind, _, token = asked.value("Authorization").partition(" ")
        if kind.lower() == "bearer" and self._is_operators(token.encode(errors="surrogateescape")):
            return None  # even after failures from this address: 256 bits can't be guessed
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
        """Refuse a connection beyond the limits; None if it was counted and may stay."""
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
