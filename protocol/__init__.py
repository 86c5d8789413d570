"""The protocol and the rules: messages, codecs, dice, digests and games, as both sides of the arena need them. There is
no I/O here, except that the shipped maps are loaded as package data. Every other package may import it.
"""

VERSION = "0.1.0"
PORT = 8765
"""The default port of an arena."""
