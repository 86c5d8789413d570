"""The games of OpenSpiel as games of Bot Arena: `openspiel:hex`, `openspiel:leduc_poker`.

This module is imported whenever somebody asks for a game that is not built in, so it does not import OpenSpiel.
"""

from protocol.games.spec import GameFamily

FAMILY = GameFamily(find_spec="bot_arena_openspiel.family:find_spec")
"""The family, as the package's entry point offers it."""
