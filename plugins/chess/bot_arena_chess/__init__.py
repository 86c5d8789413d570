"""Chess as a game of Bot Arena, with the rules of python-chess. The licence is GPL-3.0-or-later, that of python-chess.

This module is imported whenever somebody asks for a game that is not built in, so it does not import python-chess.
"""

from machine.game_discovery import digest_package
from protocol.games.spec import GameSpec

SPECS = (
    GameSpec(
        name="chess",
        room=__name__,
        rules=f"{__name__}.rules:ChessRules",
        version="1",
        digest=digest_package(__name__),
    ),
)
"""The games of this package, as its entry point offers them."""
