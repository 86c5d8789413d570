"""The requests about hosted bots: those of a runner, and the submission that the pages pass on.

A runner holds one connection. On it, `JoinFleet` is answered by events for as long as the connection lasts, and the
runner's other requests say what became of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from arena.operator.changes import Sha256Hex
from arena.operator.hosted_matches import PlayMatch, StopPlaying
from arena.operator.requests import Request, RunnerRequest
from protocol.match_logs import DEFAULT_STATE_BYTES

MAX_SLOTS = 256
"""Maximum number of slots of a runner."""
MAX_HOST_CHARS = 255
"""Maximum characters of the name of a runner's machine."""
MAX_RECORDS_BYTES = 512 * 1024
"""Maximum bytes of the records of a check. Larger ones are left out."""
MAX_PART_BYTES = 512 * 1024
"""Maximum bytes of a part of a submission. Larger ones would hold up the server for more than a millisecond or two."""


class JoinFleet(RunnerRequest, frozen=True, tag="join_fleet"):
    """Give this runner bots to run, as many as its slots, and versions to check."""

    slots: Annotated[int, Meta(ge=1, le=MAX_SLOTS)]
    host: Annotated[str, Meta(max_length=MAX_HOST_CHARS)] = ""
    """The name of the runner's machine."""


class Joined(Struct, frozen=True, kw_only=True, tag="joined"):
    """The first event: the number of the runner, which its other requests name."""

    runner: int


def version_label(number: int) -> str:
    """Return the version that a hosted bot announces to the arena: the letter v and the number."""
    return f"v{number}"


def parse_version_label(label: str) -> int | None:
    """Return the number in a version that a hosted bot announced; None if the text is none."""
    found = re.fullmatch(r"v([1-9][0-9]{0,8})", label)
    return None if found is None else int(found[1])


class RunBot(Struct, frozen=True, kw_only=True, tag="run_bot"):
    """An event: run this version of a bot. It logs in with the `ticket` as its token."""

    bot: str
    number: int
    digest: str
    ticket: str
    games: tuple[str, ...] = ()
    """The games that it plays; empty for those of its manifest."""
    kept_bytes: int = DEFAULT_STATE_BYTES
    """Maximum bytes of the files that it keeps between matches."""


class FinishMatches(Struct, frozen=True, kw_only=True, tag="finish_matches"):
    """An event: end this bot once its matches under way are over, and report that."""

    bot: str


class EndBot(Struct, frozen=True, kw_only=True, tag="end_bot"):
    """An event: end this bot at once."""

    bot: str


class CheckVersion(Struct, frozen=True, kw_only=True, tag="check_version"):
    """An event: check this version of a bot, whose id is `version`."""

    version: int
    bot: str
    number: int
    digest: str
    kept_bytes: int = DEFAULT_STATE_BYTES
    """Maximum bytes of the files that the bot keeps between matches."""


RunnerEvent: TypeAlias = Joined | RunBot | FinishMatches | EndBot | CheckVersion | PlayMatch | StopPlaying
"""The events that `JoinFleet` is answered by."""


class LeaveFleet(RunnerRequest, frozen=True, tag="leave_fleet"):
    """Give this runner nothing new, as it will stop. Its bots get `FinishMatches`. How they and its checks end is still
    reported.
    """

    runner: int


class ReportBotEnded(RunnerRequest, frozen=True, tag="report_bot_ended"):
    """Say that a bot no longer runs, and why. `runner_failed` says that this is the runner's failure, not the bot's."""

    runner: int
    bot: str
    why: str
    runner_failed: bool = False


class ReportLoad(RunnerRequest, frozen=True, tag="report_load"):
    """Say how busy the processors of a runner's machine are: the processes that use or want one, a processor."""

    runner: int
    load: Annotated[float, Meta(ge=0)]


class ReportCheck(RunnerRequest, frozen=True, tag="report_check"):
    """Say how the check of a version ended. If the `runner_failed` to make it, the version is checked again."""

    runner: int
    version: int
    passed: bool
    report: str
    runner_failed: bool = False
    records: Mapping[str, bytes] = {}
    """The gzipped records of its matches, by game."""


class ReadVersion(RunnerRequest, frozen=True, tag="read_version"):
    """Return a part of the submission with this digest, from a byte on."""

    digest: Sha256Hex
    offset: Annotated[int, Meta(ge=0)] = 0
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_PART_BYTES)] = MAX_PART_BYTES


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
    starting: bool = False
    """True if there is none yet, but the server starts some."""


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


class FindRequestedMatch(Request, frozen=True, tag="find_requested_match"):
    """Say what became of a match that was asked for."""

    match: str


class RequestedMatchState(Struct, frozen=True, kw_only=True):
    """The answer to `FindRequestedMatch`: whether the match waits or is in progress, and why it did not start; "" if it
    did, or that is not known.
    """

    under_way: bool
    why: str
