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
    """Seconds that a client waits for the answer to its `hello` before the host reports itself as not ready."""
    record_retry_delay_s: float = 1.0
    """Seconds after which a failed write of a record, or a failed start of a match, is tried again."""
    unstored_notice_delay_s: float = 2.0
    """Seconds after which the seats of a finished match are notified that it is not stored yet."""
