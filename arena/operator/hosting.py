"""The requests about hosted bots: those of a runner, and the submission that the pages pass on.

A runner holds one connection. On it, `JoinFleet` is answered by events for as long as the connection lasts, and the
runner's other requests say what became of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from arena.operator.changes import Sha256Hex
from arena.operator.requests import Request

MAX_SLOTS = 256
"""Maximum number of slots of a runner."""
MAX_RECORDS_BYTES = 512 * 1024
"""Maximum bytes of the records of a check. Larger ones are left out."""
MAX_PART_BYTES = 512 * 1024
"""Maximum bytes of a part of a submission. Larger ones would hold up the server for more than a millisecond or two."""


class JoinFleet(Request, frozen=True, tag="join_fleet"):
    """Give this runner bots to run, as many as its slots, and versions to check."""

    slots: Annotated[int, Meta(ge=1, le=MAX_SLOTS)]


class Joined(Struct, frozen=True, kw_only=True, tag="joined"):
    """The first event: the number of the runner, which its other requests name."""

    runner: int


class RunBot(Struct, frozen=True, kw_only=True, tag="run_bot"):
    """An event: run this version of a bot. It logs in with the `ticket` as its token."""

    bot: str
    number: int
    digest: str
    ticket: str
    games: tuple[str, ...] = ()
    """The games that it plays; empty for those of its manifest."""


class EndBot(Struct, frozen=True, kw_only=True, tag="end_bot"):
    """An event: run this bot no longer."""

    bot: str


class CheckVersion(Struct, frozen=True, kw_only=True, tag="check_version"):
    """An event: check this version of a bot, whose id is `version`."""

    version: int
    bot: str
    number: int
    digest: str


RunnerEvent: TypeAlias = Joined | RunBot | EndBot | CheckVersion
"""The events that `JoinFleet` is answered by."""


class ReportBotEnded(Request, frozen=True, tag="report_bot_ended"):
    """Say that a bot no longer runs, though it should, and why."""

    runner: int
    bot: str
    why: str


class ReportCheck(Request, frozen=True, tag="report_check"):
    """Say how the check of a version ended."""

    runner: int
    version: int
    passed: bool
    report: str
    records: Mapping[str, bytes] = {}
    """The gzipped records of its matches, by game."""


class ReadVersion(Request, frozen=True, tag="read_version"):
    """Return a part of the submission with this digest, from a byte on."""

    digest: Sha256Hex
    offset: Annotated[int, Meta(ge=0)] = 0


class SubmissionPart(Struct, frozen=True, kw_only=True):
    """A part of a submission. An empty one is the end."""

    data: bytes


class UploadPart(Request, frozen=True, tag="upload_part"):
    """Keep a part of a submission, behind the parts that came before under the same name of the `upload`."""

    upload: Annotated[str, Meta(min_length=16, max_length=64)]
    data: Annotated[bytes, Meta(max_length=MAX_PART_BYTES)]


class Submit(Request, frozen=True, tag="submit"):
    """Store the parts of an upload, which together are a zip, as a version of a bot. `manifest` is JSON."""

    bot: str
    digest: Sha256Hex
    upload: str
    manifest: str
    file: str | None = None
    """The name of the file, if one source file was handed in."""
    source_digest: str | None = None
    """The digest of that file without its name."""


class Submitted(Struct, frozen=True, kw_only=True):
    """The answer to `Submit`: the number of the version, and its state."""

    number: int
    state: str
    runners: int
    """The number of runners that are connected. Without one, the check waits."""


class ChangeHosting(Request, frozen=True, tag="change_hosting"):
    """Change how a hosted bot runs, as its owner wishes. What is None stays as it is."""

    bot: str
    version: int | None = None
    """The number of the version that is active from now on. It must have passed its check."""
    games: tuple[str, ...] | None = None
    """The games that the active version plays; empty for all that it declares."""
    paused: bool | None = None
    """True if the bot shall not run."""


class PublishVersion(Request, frozen=True, tag="publish_version"):
    """Let everybody read the source of a version, or its owner only."""

    bot: str
    number: int
    published: bool


class RequestMatch(Request, frozen=True, tag="request_match"):
    """Start an unrated match of a hosted bot against another one, as soon as both are free."""

    bot: str
    opponent: str
    game: str


class RequestedMatch(Struct, frozen=True, kw_only=True):
    """The answer to `RequestMatch`: the id of the match."""

    match: str
