"""The outcome of storing a finished match. This module does not load the library of the database."""

from __future__ import annotations

from typing import NamedTuple

from referee.result import Ratings


class StoredMatch(NamedTuple):
    """The outcome of storing a match: its ratings, or None if it is unrated, and the size of the record that was stored
    for it. The size is 0 if the match was stored before, or is to be stored by somebody else.
    """

    ratings: Ratings | None = None
    record_bytes: int = 0
