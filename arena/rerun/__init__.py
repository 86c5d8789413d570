"""Counterfactual replays: another bot plays a seat of a recorded match, and continuations show what its first different
move is worth. Only commands import it.
"""
