"""Exact solutions of games of any kind, and the graders of moves. Code that only concerns one game is in the folder of
that game.

- Hidden cards: hand_solving.py and hand_iteration.py solve games by CFR+, and evaluate a strategy by the best response
  to it.
- Matrix games: matrix_equilibrium.py finds exact equilibria with linear_equations.py.
- graders.py defines graders, and finds the grader of a game by its name.
"""
