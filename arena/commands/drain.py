"""`arena drain`: stops a running server once its matches are over."""

from __future__ import annotations

from pathlib import Path

from arena.operations.draining import Draining, DrainRequest
from arena.operator.client import asked
from machine.terminal import say
from protocol.display import counted
from protocol.errors import UsageFault


def drain(data: Path, within: float | None, *, undo: bool) -> None:
    """Make the server of a data folder stop when its matches are over, and begin no more; or `undo` that. Raises
    `Fault`.
    """
    if within is not None and within < 0:
        raise UsageFault(f"--within is {within:g}: it is 0 seconds or more")
    if within is not None and undo:
        raise UsageFault("--within and --undo don't go together")
    found = asked(data, DrainRequest(within_s=within, undo=undo), Draining)
    if undo:
        say("matches begin again" if found.changed else "nothing to do: the server was not about to stop")
        return
    under_way = counted(found.under_way, "match is", "matches are") + " under way"
    limit = "" if within is None else f", or after {within:g} s"
    say(f"no match begins any more; {under_way}, and the server stops when all are over{limit}")
