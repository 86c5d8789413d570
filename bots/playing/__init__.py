"""Matches in this process, by the arena's referee. Bots are called instead of connected.

local_match.py runs a match, from its start or from a given position, and stops bots that do not return. players.py
has the bots of a tournament that play so. matches.py has `play`, and many matches on every core or a cluster.
versions.py says which of two versions of a bot is better, and is in the client's wheel too.
"""
