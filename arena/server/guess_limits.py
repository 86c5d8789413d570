"""Rate limits on wrong tokens, which never delay a bot that logs in from an address known for its name."""

from __future__ import annotations

from arena.network.rate_limits import FREE_FAILURES, LONGEST_WAIT, FailureBackoff
from protocol.names import folded

FREE_OF_ADDRESS = 200
"""Wrong tokens that an address may send for all names together before the limit per address applies."""
MOST_ADDRESSES = 4
"""Addresses remembered per name, since bots move. Only holders of the token can add one."""
MAX_NAMES = 2000
"""Addresses are remembered for this many names, the last to log in. Pushing one out takes as many registrations."""


class GuessLimits:
    """Counts wrong tokens, and remembers the addresses from which names logged in. `now` is in seconds.

    Only a comparison can tell a right token from a wrong one. So tokens from delayed addresses are not compared, while
    tokens from a name's known addresses always are: guessing there is bounded by the connection rate limit.
    """

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self._max_names = max_names
        self._names = FailureBackoff(LONGEST_WAIT, free=FREE_FAILURES)
        self._addresses = FailureBackoff(LONGEST_WAIT, free=FREE_OF_ADDRESS)
        self._places: dict[str, dict[str, None]] = {}
        """Addresses from which each folded name logged in, latest last."""

    def wait(self, address: str, bot: str, now: float) -> float:
        """Return the seconds until an address may try a token for a name, 0 for now."""
        name = folded(bot)
        if address in self._places.get(name, ()):
            return 0.0
        for_name = self._names.wait((address, name), now)
        if for_name or not self._names.count((address, name)):
            return for_name
        return self._addresses.wait(address, now)

    def fail(self, address: str, bot: str, now: float) -> None:
        """Count a wrong token."""
        self._names.fail((address, folded(bot)), now)
        self._addresses.fail(address, now)

    def let_in(self, address: str, bot: str) -> None:
        """Remember an address from which a name logged in."""
        name = folded(bot)
        places = self._places.pop(name, {})
        places.pop(address, None)
        places[address] = None
        if len(places) > MOST_ADDRESSES:
            del places[next(iter(places))]
        self._places[name] = places
        if len(self._places) > self._max_names:
            del self._places[next(iter(self._places))]
