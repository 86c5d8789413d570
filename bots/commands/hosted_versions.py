"""The versions of a hosted bot as the arena's page tells them, for the commands `submit` and `hosted`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bots.agents.page import PageClient, PageError
from machine.terminal import say
from protocol.display import escape_unprintable
from protocol.errors import Fault, UsageFault

T = TypeVar("T")
STATE_WORDS = {
    "waiting": "waits for its check",
    "checking": "is being checked",
    "passed": "passed its check",
    "failed": "failed its check",
}
"""The end of a sentence about a version, by the version's state."""


class Version(Struct, frozen=True, kw_only=True):
    """The fields of a version that the commands show."""

    number: int
    state: str
    active: bool = False
    submitted: str = ""
    games: tuple[str, ...] = ()
    declared_games: tuple[str, ...] = ()
    file: str | None = None
    published: bool = False
    report: str = ""


class Versions(Struct, frozen=True, kw_only=True):
    """The versions of a bot, newest first, and whether it is paused."""

    versions: tuple[Version, ...]
    paused: bool = False


def read_version(answer: Any) -> Version:
    """Return the version that the page tells. Raise `PageError` if the answer has another form."""
    return _convert(answer, Version)


def fetch_versions(client: PageClient, bot: str) -> Versions:
    """Ask the page for the versions of a bot. Raise `PageError` if it refuses, `Fault` if the arena hosts no bots."""
    with explaining_absence():
        return read_versions(client.fetch("bots", bot, "submissions"))


def read_versions(answer: Any) -> Versions:
    """Return the versions that the page tells. Raise `PageError` if the answer has another form."""
    return _convert(answer, Versions)


def _convert(answer: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as exc:
        raise PageError(f"the arena answers like another version: {exc}") from exc


@contextmanager
def explaining_absence() -> Iterator[None]:
    """Say that an arena hosts no bots, instead of that it has no page for it."""
    try:
        yield
    except PageError as fault:
        if fault.status == HTTPStatus.NOT_FOUND and "there is nothing at" in str(fault):
            raise Fault(
                "this arena runs no programs of others: ask its operator, or connect the bot yourself"
            ) from fault
        raise


def show_versions(bot: str, versions: Versions) -> None:
    """Print a line for each version, oldest first."""
    if not versions.versions:
        say(f"{bot}: nothing was handed in")
    for version in reversed(versions.versions):
        plays = ", paused" if versions.paused else ", plays now"
        published = "  published" if version.published else ""
        state = f"{version.state}{plays if version.active else ''}"
        say(f"version {version.number}  {state}  {version.submitted}  {', '.join(version.games)}{published}")


def show_report(bot: str, versions: Versions, number: int | None = None) -> None:
    """Print the report of a version, or of the newest. Raise `UsageFault` if there is no version with this number."""
    found = [version for version in versions.versions if number in (None, version.number)]
    if found:
        say(describe(bot, found[0]))
    elif number is not None:
        numbers = ", ".join(str(version.number) for version in versions.versions) or "none"
        raise UsageFault(f"{bot} has no version {number}: its versions are {numbers}")


def describe(bot: str, version: Version) -> str:
    """Return the state of a version and the report of its check, in lines."""
    lines = [escape_unprintable(line) for line in version.report.splitlines()]
    return "\n".join([f"{bot}: version {version.number} {STATE_WORDS.get(version.state, version.state)}", *lines])
