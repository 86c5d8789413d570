"""Rate limits on wrong tokens. They never delay a bot that logs in from an address known for its name."""

from __future__ import annotations

from machine.keyed_limiter import WRONG_TOKEN_BACKOFF, KeyedLimiter
from protocol.names import fold_name

ADDRESS_BACKOFF = WRONG_TOKEN_BACKOFF._replace(free_failures=200)
"""The policy for wrong tokens of an address for all names together."""
MAX_KNOWN_ADDRESSES = 4
"""Maximum number of known addresses per name. One is not enough, because bots move to other addresses. Only a client
with the right token can add an address.
"""
MAX_NAMES = 2000
"""Maximum number of names whose known addresses are remembered. The names that logged in last are kept. To push a name
out, a client would have to register this many names.
"""


class GuessLimits:
    """Counts wrong tokens, and remembers the addresses from which names logged in. `now` is a time in seconds.

    Only a comparison can tell a right token from a wrong one. So tokens from addresses that must wait are not compared.
    Tokens from a name's known addresses always are: there, the connection rate limit bounds guessing.
    """

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self._max_names = max_names
        self._by_name = KeyedLimiter(WRONG_TOKEN_BACKOFF)
        self._by_address = KeyedLimiter(ADDRESS_BACKOFF)
        self._known_addresses: dict[str, dict[str, None]] = {}
        """The addresses from which each name logged in, by folded name. The latest address comes last."""

    def wait_s(self, address: str, bot: str, now: float) -> float:
        """Return the seconds until an address may try a token for a name; 0 if it may now."""
        name = fold_name(bot)
        if address in self._known_addresses.get(name, ()):
            return 0.0
        for_name = self._by_name.wait_s((address, name), now)
        if for_name or not self._by_name.uses((address, name)):
            return for_name
        return self._by_address.wait_s(address, now)

    def record_failure(self, address: str, bot: str, now: float) -> None:
        self._by_name.add((address, fold_name(bot)), now)
        self._by_address.add(address, now)

    def record_login(self, address: str, bot: str) -> None:
        """Remember an address from which a name logged in, as a known address of the name."""
        name = fold_name(bot)
        places = self._known_addresses.pop(name, {})
        places.pop(address, None)
        places[address] = None
        if len(places) > MAX_KNOWN_ADDRESSES:
            del places[next(iter(places))]
        self._known_addresses[name] = places
        if len(self._known_addresses) > self._max_names:
            del self._known_addresses[next(iter(self._known_addresses))]
