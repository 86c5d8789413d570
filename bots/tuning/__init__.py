"""Tuning of evaluation weights: the genetic algorithm, its games, presets, the tuning's file and its session.

genetic.py is the algorithm, pure. selfplay.py plays games between weights. tuning.py is a tuning as a value,
file.py on disk, session.py in progress. presets.py has the presets, plot.py draws a tuning. `weights` come with the
package.
"""
