"""The requests of a runner about the files of hosted bots: the logs of matches, and what bots keep between matches.

Files travel in parts, each an answered request, so that on a slow link a runner's signs of life never wait for long.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from arena.operator.requests import RunnerRequest

MAX_FILE_PART_BYTES = 32 * 1024
"""Maximum bytes of a part of a file."""
_UploadName = Annotated[str, Meta(min_length=16, max_length=64)]
_VersionNumber = Annotated[int, Meta(ge=1)]


class UploadFilePart(RunnerRequest, frozen=True, tag="upload_file_part"):
    """Keep a part of a file, behind the parts that came before under the same name of the `upload`."""

    upload: _UploadName
    data: Annotated[bytes, Meta(max_length=MAX_FILE_PART_BYTES)]


class StoreMatchLog(RunnerRequest, frozen=True, tag="store_match_log"):
    """Keep the parts of an upload as what the program of a version of a bot wrote in a match: a `MatchLog` as JSON,
    packed with zlib.
    """

    bot: str
    number: _VersionNumber
    upload: _UploadName


class StoreState(RunnerRequest, frozen=True, tag="store_state"):
    """Keep the parts of an upload, a tar, as the files of a version of a bot. Nothing is done if the version with this
    number has another digest: the bot's name has another owner now.
    """

    bot: str
    number: _VersionNumber
    digest: str
    upload: _UploadName


class ReadState(RunnerRequest, frozen=True, tag="read_state"):
    """Return a part of the tar with the files that a version of a bot keeps, from a byte on."""

    bot: str
    number: _VersionNumber
    offset: Annotated[int, Meta(ge=0)] = 0


class StatePart(Struct, frozen=True, kw_only=True):
    """A part of a tar. An empty one is the end."""

    data: bytes
