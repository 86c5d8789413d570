"""The theory of heap games, which nim and Grundy's game share: heaps.py has single heaps, impartial.py sums of heaps.

Bots choose moves by it (perfect_player.py, evaluation.py), and the arena grades moves with it (grader.py,
position_kinds.py). analysis.py and commands.py are for `arena-bot analyze`.
"""
