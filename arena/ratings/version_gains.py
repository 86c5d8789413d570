"""The mean score of each version of a bot, and its gain over the version before, as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

from msgspec import Struct

from measuring.share_intervals import ShareInterval, share_difference, share_interval


class VersionCounts(Protocol):
    """The number of matches that a version of a bot won, drew and lost. A shared first place is a draw."""

    @property
    def wins(self) -> int: ...

    @property
    def draws(self) -> int: ...

    @property
    def losses(self) -> int: ...


class VersionGain(Struct, frozen=True, kw_only=True):
    """The mean score of a version: a match counts 1 for a sole first place and half for a shared one. `gain` is the
    score less that of the version before. The two versions may have met different opponents. `gain` is None for the
    oldest version, and both are None for a version without a match.
    """

    share: ShareInterval | None = None
    gain: ShareInterval | None = None


def version_gains(versions: Sequence[VersionCounts]) -> list[VersionGain]:
    """Return each version's mean score, and its gain over the version before. `versions` are newest first. Intervals
    assume independent matches.
    """
    scores = [_score(version) for version in versions]
    gains = [_gain(newer, older) for newer, older in pairwise(scores)]
    shares = [share_interval(*score) if score[1] else None for score in scores]
    return [VersionGain(share=share, gain=gain) for share, gain in zip(shares, [*gains, None], strict=False)]


def _score(version: VersionCounts) -> tuple[float, int]:
    played = version.wins + version.draws + version.losses
    return (version.wins + version.draws / 2) / max(1, played), played


def _gain(newer: tuple[float, int], older: tuple[float, int]) -> ShareInterval | None:
    return share_difference(*newer, *older) if newer[1] and older[1] else None
