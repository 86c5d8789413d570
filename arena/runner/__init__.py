"""A runner: checks and runs hosted bots, as one side of a connection to an arena's operator's channel.

runner.py follows the arena's events, and load.py tells it how busy the machine is. version_cache.py fetches versions
and builds them, unpack.py unpacks what a build has left, check.py checks a version, hosted_bot.py runs a bot, and
entrants.py builds those of a tournament, of which tournament_match.py plays a match. hand_in.py hands in its logs, and
kept_state.py the files that it keeps. cluster.py has the workers of a Dask cluster run runners.

box.py is the box in which a stranger's program runs: everything else is code of this project. unboxed.py goes without
one. In the box, box_init.py watches over the program, by the decisions of box_watch.py, what box_usage.py sees of its
memory and time, and the filter that system_calls.py makes.

A runner needs no database and no open port. It imports no server.
"""
