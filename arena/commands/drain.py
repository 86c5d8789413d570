"""`arena drain`: stops a running server once its matches are over."""

from __future__ import annotations

from pathlib import Path

from arena.operations.draining import DrainReply, DrainRequest
from arena.operator.client import ask_server
from machine.terminal import say
from protocol.display import format_count
from protocol.errors import UsageFault


def drain(data: Path, timeout_s: float | None, *, undo: bool) -> None:
    """Make the server of a data folder start no more matches, and stop when the current ones are over.

    With `undo`, let it start matches again. Raise `Fault` if no server runs.
    """
    if timeout_s is not None and timeout_s < 0:
        raise UsageFault(f"--within is {timeout_s:g}: it is 0 seconds or more")
    if timeout_s is not None and undo:
        raise UsageFault("--within and --undo don't go together")
    found = ask_server(data, DrainRequest(within_s=timeout_s, undo=undo), DrainReply)
    if undo:
        say("matches begin again" if found.changed else "nothing to do: the server is not draining")
        return
    under_way = format_count(found.under_way, "match is", "matches are") + " under way"
    limit = "" if timeout_s is None else f", or after {timeout_s:g} s"
    say(f"the server starts no new matches; {under_way}, and it stops when all are over{limit}")
