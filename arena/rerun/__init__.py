"""Counterfactual replays: another bot plays a seat of a recorded match, and continuations of the match show what its
first different move is worth. Only commands import this package.

- fork.py finds the first different move, and continues the match after the recorded move and after the new one.
- lineup.py finds the bots' programs for continuations. workers.py runs continuations in worker processes.
- worth.py computes what the different move was worth.
"""
