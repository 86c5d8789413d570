"""The games as environments for reinforcement learning (PettingZoo, Gymnasium), and their encodings as numbers.

The environments need the extra `rl`. `encoding_of`, with which a trained policy plays in an arena, only needs numpy.

- encodings.py defines encodings, what a learner sees of a game. The rooms of the games have theirs.
- environment.py plays one game. vector.py plays all seats of many games at once, vector_single.py one seat of each.
  Both use `batched`: fast rules of some games, and single environments for all others.
- lockstep.py checks the rules in `batched` against the reference rules. copying.py copies environments.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from protocol.errors import UsageFault

if TYPE_CHECKING:
    from bots.environments.encodings import encoding_of
    from bots.environments.environment import Single, env, parallel_env
    from bots.environments.vector import VectorGames
    from bots.environments.vector_single import VectorSingle

__all__ = ["Single", "VectorGames", "VectorSingle", "encoding_of", "env", "parallel_env"]

_EXPORTS = {
    "Single": "bots.environments.environment:Single",
    "VectorGames": "bots.environments.vector:VectorGames",
    "VectorSingle": "bots.environments.vector_single:VectorSingle",
    "encoding_of": "bots.environments.encodings:encoding_of",
    "env": "bots.environments.environment:env",
    "parallel_env": "bots.environments.environment:parallel_env",
}
"""The import path of each public name, by the name."""
_EXTRA_PACKAGES = ("gymnasium", "numpy", "pettingzoo")
"""The packages that the extra `rl` installs."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use. Raise `UsageFault` if the extra `rl` is missing."""
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return resolve_name(_EXPORTS[name])
    except ModuleNotFoundError as exc:
        if exc.name not in _EXTRA_PACKAGES:
            raise
        raise UsageFault(f"bots.environments needs {exc.name}: pip install 'bot-arena[rl]'") from exc
