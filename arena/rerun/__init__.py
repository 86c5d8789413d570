"""Counterfactual replays: play a recorded match again with another bot in a seat, and measure what its first different
move is worth.
"""
