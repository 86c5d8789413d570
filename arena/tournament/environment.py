"""What the bots of a tournament find around them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from arena.tournament.sandbox import Sandbox


class Surroundings(Struct, frozen=True, kw_only=True):
    """The variables that every bot gets beside what a tournament tells it, and where a stranger's program runs."""

    variables: Mapping[str, str]
    sandbox: Sandbox | None = None
