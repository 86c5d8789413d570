"""The versions of a hosted bot as the arena's page tells them, for the commands `submit` and `hosted`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bots.agents.page import PageClient
from bots.submission import Version, convert, explaining_absence
from machine.terminal import say
from protocol.errors import UsageFault


class Versions(Struct, frozen=True, kw_only=True):
    """The versions of a bot, newest first, and whether it is paused."""

    versions: tuple[Version, ...]
    paused: bool = False


def read_version(answer: Any) -> Version:
    """Return the version that the page tells. Raise `PageError` if the answer has another form."""
    return convert(answer, Version)


def fetch_versions(client: PageClient, bot: str) -> Versions:
    """Ask the page for the versions of a bot. Raise `PageError` if it refuses, `Fault` if the arena hosts no bots."""
    with explaining_absence():
        return read_versions(client.fetch("bots", bot, "submissions"))


def read_versions(answer: Any) -> Versions:
    """Return the versions that the page tells. Raise `PageError` if the answer has another form."""
    return convert(answer, Versions)


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
        say(found[0].describe(bot))
    elif number is not None:
        numbers = ", ".join(str(version.number) for version in versions.versions) or "none"
        raise UsageFault(f"{bot} has no version {number}: its versions are {numbers}")
