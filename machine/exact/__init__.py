"""Exact solutions of small games: cached tables, game theory, and graders of moves that use them."""
