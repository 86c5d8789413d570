"""Decides who may connect: first when a connection is accepted, and again when its HTTP request has been read."""

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

from arena.network.addresses import (
    Network,
    OwnPage,
    Proxies,
    address_of,
    can_page_connect,
    is_loopback,
    misdirection_reason,
)
from arena.network.connection_limits import ConnectionBounds, ConnectionLimits, ConnectionSlot
from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter, TokenBucket
from protocol.codec import CODECS
from protocol.display import short_repr

OPERATOR_SUBPROTOCOL = "arena.operator"
"""The WebSocket subprotocol of connections of the operator."""
FORWARDED_FOR_HEADER = "X-Forwarded-For"
"""The name of the HTTP header in which a proxy says from which address it received a request."""
RETRY_AFTER_S = 5
"""The seconds in the `Retry-After` header of the answer that refuses a connection because of a limit."""
ARRIVALS_RATE = TokenBucket(burst=20, per_second=10.0)
"""The rate limit on new connections from one address. The burst is larger by twice the number of connections that an
address may have.
"""

_SAFE_HOST_PATTERN = re.compile(r"[A-Za-z0-9.\[\]:-]+")
"""The pattern of a `Host` header that is safe to display."""
_BEARER_PATTERN = re.compile(rb"\r\nauthorization: *bearer ([^\r\n]*)\r\n", re.IGNORECASE)
"""The pattern of the HTTP header with the operator's token."""
_REQUEST_END = b"\r\n\r\n"
"""The last bytes of a complete HTTP request."""

log = logging.getLogger("arena.network.admission")


class Access(Struct, frozen=True, kw_only=True):
    """The rules about who may connect to an arena.

    `proxies` are trusted to report their clients' addresses. Web pages of `origins` and the arena's own `page` may
    connect. `operator_token` is None if no operator may connect, `runner_token` if no runner may with one of its own.
    """

    bounds: ConnectionBounds = ConnectionBounds()
    proxies: tuple[Network, ...] = ()
    origins: tuple[str, ...] = ()
    page: OwnPage | None = None
    operator_token: str | None = None
    runner_token: str | None = None


class ConnectionRequest(Struct, frozen=True, kw_only=True):
    """The HTTP request with which a connection begins. `peer` and `local` are the two addresses of the connection.
    `get_headers(name)` returns all values of a header.
    """

    method: str
    get_headers: Callable[[str], list[str]]
    peer: str
    local: str
    address: str | None = None
    """The address under which limits count the connection; None if it depends on the request's headers."""
    is_operators_only: bool = False
    """True if the connection came through a socket for operators only."""

    def header_value(self, name: str) -> str:
        """Return all values of a header, joined with commas; "" if the request lacks the header."""
        return ", ".join(self.get_headers(name))

    @property
    def offered_subprotocols(self) -> list[str]:
        return [name.strip() for name in self.header_value("Sec-WebSocket-Protocol").split(",")]


class HttpRefusal(Struct, frozen=True):
    """The HTTP response to a request that does not become a connection."""

    status: HTTPStatus
    text: str
    headers: dict[str, str] = {}


class Admission:
    """Admits connections, or refuses them. It calls `on_refused(address, why)` for each request that it refuses."""

    def __init__(
        self,
        access: Access,
        on_refused: Callable[[str, str], None] = lambda address, why: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_refused = on_refused
        self._clock = clock
        self.refusals: Counter[str] = Counter()
        """The number of refusals by HTTP status. `unanswered` counts connections dropped without an answer."""
        self.connection_limits = ConnectionLimits(access.bounds)
        self._arrivals = KeyedLimiter(ARRIVALS_RATE._replace(burst=ARRIVALS_RATE.burst + 2 * access.bounds.per_address))
        self._proxies = Proxies(access.proxies)
        self._access = access
        self._wrong_tokens = KeyedLimiter(WRONG_TOKEN_BACKOFF)
        self._has_warned_of_proxy = False

    def take_slot(
        self, peer: str, address: str | None = None, *, operators_only: bool = False
    ) -> ConnectionSlot | None:
        """Return a slot for a new connection, or None to drop the connection without an answer, which costs least.

        `address` is given if all connections to a socket count under one fixed address. If it is None, the connection
        counts under the address of `peer` until its request is read. Connections to a socket for `operators_only` have
        no rate limit, because otherwise any user of the machine could keep the operator out. Until `recognize_operator`
        sees the operator's token, such a connection counts as a stranger's.
        """
        address = address or address_of(peer)
        if operators_only:
            address = f"strangers to {address}"
        shared = self._proxies.trusts(peer)
        if not (shared or operators_only) and self._arrivals.take(address, self._clock()):
            self.refusals["unanswered"] += 1
            return None
        return self.connection_limits.take(address, shared=shared)

    def recognize_operator(self, request: bytes, slot: ConnectionSlot, address: str) -> None:
        """Count a connection for the operator's `address` if its HTTP request is complete and has the token of the
        operator or of runners.

        This comes before all other checks, so that strangers never use up the operator's limits.
        """
        found = _BEARER_PATTERN.search(request) if request.endswith(_REQUEST_END) else None
        if found is not None and (self._is_operator_token(found[1]) or self._is_runner_token(found[1])):
            slot.change_address(address)
            slot.end_waiting()

    def _is_operator_token(self, token: bytes) -> bool:
        return _is_token(token, self._access.operator_token)

    def _is_runner_token(self, token: bytes) -> bool:
        return _is_token(token, self._access.runner_token)

    def check_request(self, request: ConnectionRequest, slot: ConnectionSlot) -> HttpRefusal | None:
        """Return the refusal of a request; None if the request may become a connection. In that case, the slot now
        counts for the client's address.
        """
        if request.method != "GET":
            return HttpRefusal(
                HTTPStatus.METHOD_NOT_ALLOWED, "GET is what there is, to open a WebSocket", {"Allow": "GET"}
            )
        if "websocket" not in request.header_value("Upgrade").lower():
            return self._refuse_browser(request)
        shared = self._proxies.trusts(request.peer)
        address = request.address or self._proxies.client_address(
            request.peer, request.get_headers(FORWARDED_FOR_HEADER)
        )
        refusal = self._check_origin(request, shared) or self._check_operator(request, address, slot)
        if refusal is None and not request.is_operators_only:  # other clients must not crowd the operator out
            refusal = self._check_limits(request, address, slot, shared)
        if refusal is not None:
            self.refusals[str(refusal.status.value)] += 1
            self._on_refused(address, refusal.text)
        return refusal

    def _refuse_browser(self, request: ConnectionRequest) -> HttpRefusal:
        """Return a refusal that explains what this port is. It names the web pages, in words for people and in a header
        for programs.
        """
        text = "this is the WebSocket port of a Bot Arena, for programs: there is no page here"
        headers = {"Upgrade": "websocket"}
        host = request.header_value("Host")
        if self._access.page is not None and _SAFE_HOST_PATTERN.fullmatch(host):
            page = f"{self._access.page.origin_on(host)}/"
            text += f"; the pages are at {page}"
            headers["Link"] = f'<{page}>; rel="alternate"'
        return HttpRefusal(HTTPStatus.UPGRADE_REQUIRED, text, headers)

    def _check_origin(self, request: ConnectionRequest, shared: bool) -> HttpRefusal | None:
        """Return a refusal for a foreign web page, an unknown host name or an unknown subprotocol; otherwise None."""
        host, origin = request.header_value("Host"), request.header_value("Origin")
        wrong = None if shared else misdirection_reason(host, request.local)
        if wrong is not None:
            return HttpRefusal(HTTPStatus.MISDIRECTED_REQUEST, wrong)
        if origin and OPERATOR_SUBPROTOCOL in request.offered_subprotocols:
            return HttpRefusal(
                HTTPStatus.FORBIDDEN, f"{OPERATOR_SUBPROTOCOL} is for programs: web pages may not operate an arena"
            )
        if origin and not can_page_connect(origin, host, self._access.origins, self._access.page):
            text = f"pages of {short_repr(origin)} may not connect; the operator can allow them with --allow-origin"
            return HttpRefusal(HTTPStatus.FORBIDDEN, text)
        known = {*CODECS} if self._access.operator_token is None else {*CODECS, OPERATOR_SUBPROTOCOL}
        if request.offered_subprotocols != [""] and not known & {*request.offered_subprotocols}:
            text = f"none of the subprotocols is supported: offer one of {', '.join(CODECS)}"
            return HttpRefusal(HTTPStatus.BAD_REQUEST, text)
        return None

    def _check_operator(self, request: ConnectionRequest, address: str, slot: ConnectionSlot) -> HttpRefusal | None:
        """Return a refusal for a wrong operator's token, or for a stranger on the operator's socket; else None. The
        slot of a runner is marked.
        """
        if OPERATOR_SUBPROTOCOL not in request.offered_subprotocols:
            text = f"this port is for operators only: offer the subprotocol {OPERATOR_SUBPROTOCOL}"
            return HttpRefusal(HTTPStatus.FORBIDDEN, text) if request.is_operators_only else None
        kind, _, token = request.header_value("Authorization").partition(" ")
        given = token.encode(errors="surrogateescape") if kind.lower() == "bearer" else b""
        slot.is_runner = self._is_runner_token(given)
        if slot.is_runner or self._is_operator_token(given):
            return None  # even after failures from this address: 256 bits can't be guessed
        wait = self._wrong_tokens.wait_s(address, self._clock())
        if wait and not request.is_operators_only:
            seconds = math.ceil(wait)
            text = f"too many wrong tokens came from {address}: try again in {seconds} s"
            return HttpRefusal(HTTPStatus.TOO_MANY_REQUESTS, text, {"Retry-After": str(seconds)})
        self._wrong_tokens.add(address, self._clock())
        text = "the operator's token is missing or wrong: it is the one that operator.json had when the server started"
        return HttpRefusal(HTTPStatus.UNAUTHORIZED, text, {"WWW-Authenticate": "Bearer"})

    def _check_limits(
        self, request: ConnectionRequest, address: str, slot: ConnectionSlot, shared: bool
    ) -> HttpRefusal | None:
        """Return a refusal if a connection would exceed a limit. Otherwise count the connection and return None."""
        forwarded = request.get_headers(FORWARDED_FOR_HEADER)
        if forwarded and not shared and is_loopback(request.peer) and not self._has_warned_of_proxy:
            self._has_warned_of_proxy = True
            log.warning(
                "a proxy at %s forwards connections, which all count as its own: see --trusted-proxy", request.peer
            )
        wait = self._arrivals.take(address, self._clock()) if shared else 0.0
        full = f"{address} connects too often" if wait else slot.try_admit(address)
        if full is None:
            return None
        return HttpRefusal(HTTPStatus.SERVICE_UNAVAILABLE, full, {"Retry-After": str(RETRY_AFTER_S)})


def _is_token(given: bytes, token: str | None) -> bool:
    return bool(token) and hmac.compare_digest(given, (token or "").encode())
