"""Matches in this process, with the arena's referee. Bots are called; they do not connect.

local_match.py plays one match, from its start or from a given position, and interrupts bots that do not return.
players.py has the bots of a tournament in this process. matches.py has `play` for one match and `play_all` for many, on
several cores or a cluster. versions.py finds which of two versions of a bot is better; the client's wheel contains it
too.
"""
