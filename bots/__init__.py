"""The bots' side: the client library, search, the reference bots and the `arena-bot` command.

`from bots import Bot, Turn, run` is all that a bot needs.
"""

from bots.bot import Bot, Choice, Turn

__all__ = ["Bot", "Choice", "Turn"]
