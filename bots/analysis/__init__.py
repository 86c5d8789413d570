"""Comparisons of searches, for `arena-bot compare` (searches.py), and estimates of the values of moves (estimator.py).

Each game's package has its analyses for `arena-bot analyze`.
"""
