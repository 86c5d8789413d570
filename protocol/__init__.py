"""What both sides of the arena must agree on: messages, dice and the rules of the games. No I/O lives here."""

VERSION = "0.1.0"
