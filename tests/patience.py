"""Settings with which tests start what they test: it waits longer for a client than any test takes."""

from __future__ import annotations

import dataclasses
from typing import Any

from arena.feed import FeedTimeouts
from arena.host.timeouts import HostTimeouts
from arena.network.timeouts import NetworkTimeouts
from machine.client.timeouts import ClientTimeouts
from referee.match import MatchTimeouts
from timeouts import WITHIN

PATIENCE_S = 2 * WITHIN
"""More than a test waits itself, so that a test that hangs says where."""
PATIENT_NETWORK = NetworkTimeouts(
    request_timeout_s=PATIENCE_S,
    first_bytes_timeout_s=PATIENCE_S,
    tls_handshake_timeout_s=PATIENCE_S,
    hello_timeout_s=PATIENCE_S,
    pong_timeout_s=PATIENCE_S,
    write_timeout_s=PATIENCE_S,
)
PATIENT_FEED = FeedTimeouts(connect_timeout_s=PATIENCE_S, answer_timeout_s=PATIENCE_S, flush_timeout_s=WITHIN)
PATIENT_CLIENT = ClientTimeouts(open_timeout_s=PATIENCE_S, close_timeout_s=WITHIN, pong_timeout_s=PATIENCE_S)
HASTY_CLIENT = dataclasses.replace(PATIENT_CLIENT, first_retry_delay_s=0.001, max_retry_delay_s=0.01)
"""As patient, but it hardly waits between two attempts."""


def patient_host(*, ready_timeout_s: float = PATIENCE_S, **network: Any) -> HostTimeouts:
    """Return the settings of a host that is patient, but for these of its network."""
    return HostTimeouts(
        network=dataclasses.replace(PATIENT_NETWORK, **network), match=MatchTimeouts(ready_timeout_s=ready_timeout_s)
    )
