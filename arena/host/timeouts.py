"""The time limits of a host of matches: for clients, for the disk and for the database."""

from __future__ import annotations

from dataclasses import dataclass, field

from arena.network.timeouts import NetworkTimeouts
from referee.match import MatchTimeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTimeouts:
    """A host's time limits, in seconds."""

    network: NetworkTimeouts = field(default_factory=NetworkTimeouts)
    match: MatchTimeouts = field(default_factory=MatchTimeouts)
    slow_answer_delay_s: float = 5.0
    """The host reports itself as not ready when a client has waited this long for the answer to its `hello`."""
    record_retry_delay_s: float = 1.0
    """A failed write of a record, or a failed start of a match, is tried again after this time."""
    unstored_notice_delay_s: float = 2.0
    """The seats of a finished match are notified when it is not stored after this time."""
