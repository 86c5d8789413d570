"""Batches of games under one config: rules and encodings as loops over flat arrays.

batch.py has the common interface, row_game.py the common part of small games. Each game's package has its batch.
"""
