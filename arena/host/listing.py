"""Who is here, what they seek and what is played, as much of it as one message takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice

from arena.host.runner import Runner
from arena.host.session import Session
from protocol.messages import ListedBot, ListedSeek, Listing

KEPT = 1.0
"""Seconds for which one listing is told to all who ask."""
MOST_BOTS = MOST_MATCHES = 256
"""With eight seeks of each bot at most a listing has 0.8 MB, and goes into a frame."""


def listing(
    sessions: Collection[Session],
    playing: Mapping[str, Collection[str]],
    runners: dict[str, Runner],
    seeks_of: Callable[[str], tuple[list[ListedSeek], int]],
) -> Listing:
    """These clients with their matches by the keys of their bots, what they seek, and the matches under way."""
    return Listing(
        bots=[
            ListedBot(
                bot=session.bot or "",
                version=session.version,
                client=session.client,
                playing=len(playing.get(session.key, ())),
                seeks=seeks,
                pace_s=pace_s,
            )
            for session in islice(sessions, MOST_BOTS)
            for seeks, pace_s in [seeks_of(session.key)]
        ],
        matches=[runner.listed() for runner in islice(reversed(runners.values()), MOST_MATCHES)],
        more_bots=max(0, len(sessions) - MOST_BOTS),
        more_matches=max(0, len(runners) - MOST_MATCHES),
    )
