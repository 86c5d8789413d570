"""The bots' side: the client library, search, the reference bots and the `arena-bot` command.

`from bots import Bot, Turn, run` is all that a bot needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from bots.client.bot import Bot, Choice, GiveUp, Turn
except ModuleNotFoundError as exc:
    exc.add_note(
        "this Python lacks what bots need: activate the environment they are installed in (. .venv/bin/activate)"
    )
    raise

if TYPE_CHECKING:
    from bots.client.run import run

__all__ = ["Bot", "Choice", "GiveUp", "Turn", "run"]


def __getattr__(name: str) -> Any:
    """`run`, imported when it is asked for: what only searches or defines a bot needs no sockets."""
    if name == "run":
        from bots.client.run import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
