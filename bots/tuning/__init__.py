"""Tuning of evaluation weights: the genetic algorithm, its games, presets, the tuning's file and its session.

genetic.py is the algorithm, which plays no games itself. selfplay.py plays games between sets of weights. tuning.py
defines a tuning and its progress, file.py stores it, session.py runs it. presets.py and weights.py read the presets and
the sets of weights in the rooms of the games. plot.py draws a tuning's fitness.
"""
