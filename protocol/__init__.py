"""What both sides of the arena must agree on: messages, dice and the rules of the games.

No I/O lives here; the maps that come along are loaded as the code is.
"""

VERSION = "0.1.0"
