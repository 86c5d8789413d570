"""Ratings, pairing and tables of ladder and tournaments, as pure functions. It imports measuring, protocol and
referee, and nothing else of arena.

- rating_system.py rates with TrueSkill; trueskill_update.py is the update.
- ladder_pairing.py and tournament_pairing.py say who plays whom.
- tournament_standings.py is the whole table, for terminals and pages. standings.py ranks by score,
  payoff_standings.py by payoff. rank_ranges.py has the ranks that chance leaves open, and version_gains.py what a
  version gained over the one before.
"""
