"""How many tokens may be guessed: by address and name, and by address for all names, but never in the way of a bot that
comes from where it came before.
"""

from __future__ import annotations

from arena.network.rate_limits import FREE_FAILURES, LONGEST_WAIT, FailureBackoff
from protocol.names import folded

FREE_OF_ADDRESS = 200
"""Wrong tokens that an address may bring for all names together, before a name has one alone."""
MOST_ADDRESSES = 4
"""Of a name that are remembered: a bot moves. Nobody else can fill them up, who does not have its token."""
MAX_NAMES = 2000
"""Of which addresses are remembered, those that came in last. To push one out takes as many registrations."""


class GuessLimits:
    """Wrong tokens that came, and the addresses from which names came in rightly. Time comes in as `now`, in seconds.

    A right token can't be told from a wrong one without comparing it. So who has to wait is not compared, and an
    address from which the name came in is always compared: whoever guesses there is held up by how often an address
    may connect.
    """

    def __init__(self, max_names: int = MAX_NAMES) -> None:
        self._max_names = max_names
        self._names = FailureBackoff(LONGEST_WAIT, free=FREE_FAILURES)
        self._addresses = FailureBackoff(LONGEST_WAIT, free=FREE_OF_ADDRESS)
        self._places: dict[str, dict[str, None]] = {}
        """By folded name, the addresses it came in from, the latest last."""

    def wait(self, address: str, bot: str, now: float) -> float:
        """Seconds until a token for a name may come from an address; 0 now."""
        name = folded(bot)
        if address in self._places.get(name, ()):
            return 0.0
        for_name = self._names.wait((address, name), now)
        if for_name or not self._names.count((address, name)):
            return for_name
        return self._addresses.wait(address, now)

    def fail(self, address: str, bot: str, now: float) -> None:
        """A wrong token came."""
        self._names.fail((address, folded(bot)), now)
        self._addresses.fail(address, now)

    def let_in(self, address: str, bot: str) -> None:
        """A right token came."""
        name = folded(bot)
        places = self._places.pop(name, {})
        places.pop(address, None)
        places[address] = None
        if len(places) > MOST_ADDRESSES:
            del places[next(iter(places))]
        self._places[name] = places
        if len(self._places) > self._max_names:
            del self._places[next(iter(self._places))]
