"""Who is here, what they seek and what is played, as much of it as one message takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from math import ceil

from arena.host.runner import Runner
from arena.host.session import Session
from arena.server.matchmaking import Matchmaker
from arena.server.seek_index import ActiveSeek
from protocol.messages import ListedBot, ListedSeek, Listing

KEPT = 1.0
"""Seconds for which one listing is told to all who ask."""
MOST_BOTS = MOST_MATCHES = 256
MOST_SEEKS = 8
"""Of a bot. So a listing has 0.8 MB at worst, and goes into a frame."""


def listing(
    sessions: Collection[Session],
    playing: Mapping[str, Collection[str]],
    seeks: Matchmaker,
    runners: dict[str, Runner],
    unknown: Callable[[Iterable[str]], list[str]],
) -> Listing:
    """These clients with their matches and seeks, by the keys of their bots, and the matches that are under way.

    `unknown` says of names which were never here.
    """
    return Listing(
        bots=[
            ListedBot(
                bot=session.bot or "",
                version=session.version,
                client=session.client,
                playing=len(playing.get(session.key, ())),
                seeks=_listed(seeks.of(session.key), unknown),
                pace_s=ceil(seeks.paced(session.key)),
            )
            for session in islice(sessions, MOST_BOTS)
        ],
        matches=[runner.listed() for runner in islice(reversed(runners.values()), MOST_MATCHES)],
        more_bots=max(0, len(sessions) - MOST_BOTS),
        more_matches=max(0, len(runners) - MOST_MATCHES),
    )


def _listed(found: Iterable[ActiveSeek], unknown: Callable[[Iterable[str]], list[str]]) -> list[ListedSeek]:
    """Seeks of a bot, those that look the same once."""
    alike = dict.fromkeys(
        (kind.game, kind.preset, kind.rated, kind.open, sought.opponents) for sought in found for kind in (sought.kind,)
    )
    return [
        ListedSeek(
            game=game,
            preset=preset,
            rated=rated,
            open=is_open,
            opponents=sorted(opponents),
            unknown=unknown(opponents),
        )
        for game, preset, rated, is_open, opponents in islice(alike, MOST_SEEKS)
    ]
