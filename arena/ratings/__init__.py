"""Ratings, tables, and the pairing of tournaments, as pure functions. Of the project, this package imports
only measuring, protocol and referee.

- rating_system.py rates with TrueSkill; trueskill_update.py computes the update for one match.
- tournament_pairing.py decides which bots play each other.
- tournament_standings.py makes the complete table of a tournament. standings.py ranks bots by score,
  payoff_standings.py by payoff.
- rank_ranges.py computes which ranks each bot may have, because results depend on chance. version_gains.py compares the
  score of each version of a bot with that of the version before.
"""
