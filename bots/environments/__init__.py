"""The games as environments of reinforcement learning (PettingZoo's AEC), and what a learner sees of them.

`env` needs the extra `rl`; `encoding_of`, by which a learnt policy plays in an arena, needs numpy alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol.errors import UsageFault

if TYPE_CHECKING:
    from bots.environments.encodings import encoding_of
    from bots.environments.environment import env

__all__ = ["encoding_of", "env"]

_NEEDED = ("gymnasium", "numpy", "pettingzoo")


def __getattr__(name: str) -> Any:
    """`env` and `encoding_of`, imported when they are asked for. Raises `UsageFault` without the extra `rl`."""
    try:
        if name == "encoding_of":
            from bots.environments.encodings import encoding_of

            return encoding_of
        if name == "env":
            from bots.environments.environment import env

            return env
    except ModuleNotFoundError as exc:
        if exc.name not in _NEEDED:
            raise
        raise UsageFault(f"bots.environments needs {exc.name}: pip install 'bot-arena[rl]'") from exc
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
