"""Everything for bots: the client library, searches, the reference bots and the `arena-bot` command. `from bots import
Bot, Turn, run` is all that a bot needs. `from bots import play` plays matches without an arena.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bots import mistakes

mistakes.report_faults_in_a_line()
mistakes.check_hidden(("machine", "protocol"))

try:
    with mistakes.importing():
        from bots.client.bot import Bot, Choice, GiveUp, Turn
        from protocol.errors import UsageFault
except ModuleNotFoundError as exc:
    exc.add_note(
        "this Python lacks what bots need: activate the environment they are installed in (. .venv/bin/activate)"
    )
    raise

if TYPE_CHECKING:
    from bots.client.run import run
    from bots.playing.matches import Played, play, play_all

__all__ = ["Bot", "Choice", "GiveUp", "Played", "Turn", "play", "play_all", "run"]
_LAZY_MODULES = {
    "run": "bots.client.run",
    "Played": "bots.playing.matches",
    "play": "bots.playing.matches",
    "play_all": "bots.playing.matches",
}
"""The module from which a public name is imported on first use, by the name."""


def __getattr__(name: str) -> Any:
    """Import a public name of this package when a program first uses it. The other parts are not imported."""
    if name in _LAZY_MODULES:
        if name != "run":
            mistakes.check_hidden(("measuring", "referee"))
            if find_spec("bots.playing") is None or find_spec(_LAZY_MODULES[name]) is None:
                raise UsageFault(
                    f"{name} is in bot-arena, not in bot-arena-client, which is for play at an arena alone"
                )
        with mistakes.importing():
            return getattr(import_module(_LAZY_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
