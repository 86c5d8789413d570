"""Batches of games under one config, for fast learning: rules and encodings as loops over flat arrays. batch.py has the
common interface and finds the batch of a game. row_game.py has the common part of batches of small games. The rooms of
the games have the batches.
"""
