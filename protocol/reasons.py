"""Why a match ended, or a seat's part in it: the words that `end`, records, tables and the ladder share."""

WIN = "win"
DRAW = "draw"
PLY_LIMIT = "ply_limit"
ROUND_LIMIT = "round_limit"
RESIGNED = "resigned"
TIMEOUT = "timeout"
ILLEGAL = "illegal"
DISCONNECTED = "disconnected"
NO_SHOW = "no_show"
FAILED = "failed"
VOID = "void"

PLAYED_OUT = (WIN, DRAW, PLY_LIMIT, ROUND_LIMIT)
"""The game itself ended: they say nothing more of a seat than its rank does."""
LEAVING = (RESIGNED, TIMEOUT, ILLEGAL, DISCONNECTED, NO_SHOW, FAILED)
"""Why a seat may drop out."""
ABSENCES = frozenset({TIMEOUT, DISCONNECTED, NO_SHOW})
"""Nothing was heard of a seat in time."""
FORFEITS = frozenset({TIMEOUT, ILLEGAL, DISCONNECTED, NO_SHOW, FAILED})
"""Lost without being beaten, and without giving up."""
