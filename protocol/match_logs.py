"""The log of a hosted bot's match: what its program wrote. The client writes it, and a runner hands it in."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from protocol.messages import MatchId

LOG_HALF_BYTES = 32 * 1024
"""Maximum bytes of the beginning, and of the end, of a program's output in a match that are kept."""
MAX_LOG_CHARS = 3 * LOG_HALF_BYTES
"""Maximum characters of a log, with the notes of the client between what the program wrote."""
MAX_FAULTS = 20
"""Maximum number of faults of a program in a match that its log lists."""
LOG_ENDING = ".json"
"""The ending of the name of the file in which a client leaves the log of a match."""
OPEN_LOG_ENDING = ".open"
"""The ending of the file with the log of a match in progress, which is written when the program fails."""
STATE_FILE = "state.tar"
"""The file beside the logs of a bot with the files that its program keeps between matches."""
STATE_MARK = b"\n--- kept files ---\n"
"""The bytes that follow the output of a program which keeps files. The tar of the files comes after them."""
DEFAULT_STATE_BYTES, MAX_STATE_BYTES = 1024 * 1024, 16 * 1024 * 1024
"""Maximum bytes of the files that a program keeps: the default, and the largest maximum that an arena may set."""
STATE_HEADERS_BYTES = 32 * 1024
"""Maximum bytes of what the tar of such files has besides them."""


class ProgramFault(Struct, frozen=True, kw_only=True):
    """An error of a program during a match: the ply, what it did, and the last lines that it had written."""

    ply: Annotated[int, Meta(ge=0)]
    what: Annotated[str, Meta(max_length=1000)]
    last_lines: Annotated[str, Meta(max_length=4000)] = ""

    def __str__(self) -> str:
        return f"at ply {self.ply} its program {self.what}"


class MatchLog(Struct, frozen=True, kw_only=True):
    """The output of a program in a match, with the faults that came, oldest first."""

    match: MatchId
    text: Annotated[str, Meta(max_length=MAX_LOG_CHARS)]
    faults: Annotated[tuple[ProgramFault, ...], Meta(max_length=MAX_FAULTS)] = ()
