"""The reasons why a match ended, or one seat's part in it. The message `end`, records and tables use these words."""

WIN = "win"
"""The match was won: the ranks of the seats differ."""
DRAW = "draw"
"""The match was drawn: all seats have the same rank."""
PLY_LIMIT = "ply_limit"
"""The match reached its maximum number of plies."""
ROUND_LIMIT = "round_limit"
"""The match reached its number of rounds."""
RESIGNED = "resigned"
"""The seat resigned."""
TIMEOUT = "timeout"
"""The seat used up its clock while it was connected."""
ILLEGAL = "illegal"
"""The seat's moves were refused too often."""
DISCONNECTED = "disconnected"
"""The seat was disconnected for too long."""
NO_SHOW = "no_show"
"""The seat was not ready in time."""
FAILED = "failed"
"""The bot's program could not go on, as its client reported."""
VOID = "void"
"""The match was called off."""

NATURAL_ENDINGS = (WIN, DRAW, PLY_LIMIT, ROUND_LIMIT)
"""The reasons that come from the rules of the game. Tables omit them, because a seat's rank says enough."""
DROP_OUT_REASONS = (RESIGNED, TIMEOUT, ILLEGAL, DISCONNECTED, NO_SHOW, FAILED)
"""Reasons for which a seat may drop out."""
ABSENCES = frozenset({TIMEOUT, DISCONNECTED, NO_SHOW})
"""The reasons of seats that dropped out because they were not connected or not ready, or their clock ran out."""
FORFEITS = frozenset({TIMEOUT, ILLEGAL, DISCONNECTED, NO_SHOW, FAILED})
"""All reasons of seats that dropped out, except resignation."""
