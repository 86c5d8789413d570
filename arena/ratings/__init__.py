"""Ratings, pairing and tables of ladder and tournaments, as pure functions. It imports measuring, protocol and referee,
and nothing else of arena.
"""
