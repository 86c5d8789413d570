"""What both sides of the arena must agree on: messages, dice and the rules of the games.

No I/O lives here; the maps that come along are loaded as the code is.
"""

VERSION = "0.1.0"
PORT = 8765
"""Where an arena listens unless it is told."""
