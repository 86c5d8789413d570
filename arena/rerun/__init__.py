"""Counterfactual replays: another bot plays a seat of a recorded match, and continuations show what its first
different move is worth. Only commands import it.

fork.py finds the first different move and plays on both ways. lineup.py has the programs that play on, workers.py
the workers that do it, worth.py what it was worth.
"""
