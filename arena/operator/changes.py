"""The operator's requests that change bots, their tokens, or what counts for ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from arena.operator.requests import Request

Sha256Hex: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
"""A SHA-256 hash in hexadecimal."""


class NameRequest(Request, frozen=True):
    """A request that changes the bot, or starts the season, with this name."""

    name: str

    def changed_names(self) -> Sequence[str]:
        return [self.name]


class BotsRequest(Request, frozen=True):
    """A request that changes all bots with these names, or none."""

    names: list[str]

    def changed_names(self) -> Sequence[str]:
        return self.names


class Register(Request, frozen=True, tag="register"):
    """Register and approve new bots by the hashes of their tokens, all of them or none.

    `displays` has the display names of some of them.
    """

    hashes: dict[str, Sha256Hex]
    displays: dict[str, str] = msgspec.field(default_factory=dict)

    def changed_names(self) -> Sequence[str]:
        return list(self.hashes)


class Revoke(BotsRequest, frozen=True, tag="revoke"):
    """Revoke the tokens of all these bots or of none, and end their connections."""


class Rotate(NameRequest, frozen=True, tag="rotate"):
    """Replace a bot's token, and end the connection that uses the old token. `token_hash` is that of the new token."""

    token_hash: Sha256Hex


class Approve(BotsRequest, frozen=True, tag="approve"):
    """Approve bots, or withdraw their approval if `approved` is false; all of them or none.

    Some servers rate only matches between approved bots.
    """

    approved: bool = True

    def action_name(self) -> str:
        return "approve" if self.approved else "disapprove"


class SetPeople(BotsRequest, frozen=True, tag="set_people"):
    """Mark names as those of people or of bots, all of them or none. It applies from the next connection on."""

    person: bool = True

    def action_name(self) -> str:
        return "person" if self.person else "no_person"


class SetDisplay(NameRequest, frozen=True, tag="set_display"):
    """Set the display name of a bot, which people read, or remove it if `display` is None.

    It applies from the bot's next connection on.
    """

    display: str | None = None


class DisconnectedBots(Struct, frozen=True, kw_only=True):
    """The reply to a request that ends connections: the bots whose connections were ended."""

    bots: list[str] = []


class Annul(Request, frozen=True, tag="annul"):
    """Annul the matches with these ids, and the matches of a bot; with `undo`, count them again.

    `since` is the time, in the format of results, from which the bot's matches are annulled.

    If a match or bot does not exist, or a match was never rated, raise `UsageFault` and change nothing.
    """

    ids: list[str]
    bot: str | None = None
    since: str | None = None
    undo: bool = False

    def action_name(self) -> str:
        return "undo_annul" if self.undo else "annul"

    def changed_names(self) -> Sequence[str]:
        return [*self.ids, *([] if self.bot is None else [self.bot])]


class StartSeason(NameRequest, frozen=True, tag="start_season"):
    """Start a new season with a name. All ratings start again."""
