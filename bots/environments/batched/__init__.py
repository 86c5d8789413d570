"""Batches of games under one config: rules and encodings as loops over flat arrays.

batch.py has the common interface and the registry; the other modules have the games.
"""
