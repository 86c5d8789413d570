"""Exact solutions of small games: cached tables, game theory, and graders of moves that use them.

- Bounded Risk: duel.py and duel_values.py solve small maps in memory. Large tables are solved, proven and mapped
  once by duel_solving.py, duel_sweeps.py and duel_rows.py; duel_file.py and duel_shape.py are their format.
- Poker: hand_solving.py and hand_iteration.py solve games with hidden cards by CFR+ and judge a strategy by its
  best response. hand_strategies.py has the equilibria that are played, hand_values.py what a decision is worth.
- Matrix games: matrix_equilibrium.py and linear_equations.py compute in fractions. memory_one.py scores strategies
  of the dilemma that remember one round.
- heaps.py grades heap games. graders.py finds the grader of a game by its name.
"""
