"""Messages, codecs, dice, digests and game rules, which both sides of the arena share. There is no I/O, except that the
shipped maps are loaded as package data. Every package may import it; it imports none.
"""

VERSION = "0.1.0"
PORT = 8765
"""The default port of an arena."""
