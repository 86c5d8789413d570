"""Exact solutions of small games: cached tables, game theory, and graders of moves that use them.

- Bounded Risk: duel.py and duel_values.py solve small maps in memory. Large tables are solved once, with a proven
  error, by duel_solving.py, duel_sweeps.py and duel_rows.py. duel_file.py and duel_shape.py define their format.
- Poker: hand_solving.py and hand_iteration.py solve games with hidden cards by CFR+, and evaluate a strategy by the
  best response to it. hand_strategies.py has the equilibria, hand_values.py the values of decisions.
- Matrix games: matrix_equilibrium.py finds exact equilibria with linear_equations.py. memory_one.py scores strategies
  of the dilemma that remember one round.
- heaps.py grades heap games. graders.py finds the grader of a game by its name.
"""
