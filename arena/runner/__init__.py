"""A runner: checks and runs hosted bots, as one side of a connection to an arena's operator's channel.

runner.py follows the arena's events. version_cache.py fetches versions and builds them, unpack.py unpacks what a build
has left, check.py checks a version, hosted_bot.py runs a bot, entrants.py builds those of a tournament, and box.py is
the box in which a stranger's program runs: everything else is code of this project. A runner needs no database and no
open port. It imports no server.
"""
