"""Tuning of evaluation weights: the genetic algorithm, its games, presets, the file of a tuning and its running
session.
"""
