"""The theory of heap games, which nim and Grundy's game share: heaps.py has single heaps, impartial.py sums of heaps.
The rules of nim use grundy_values.py alone. The module `theory` of a room has the rule of its heaps.

Bots choose moves by it (perfect_player.py, evaluation.py), and the arena grades moves with it (grader.py,
position_kinds.py). analysis.py and commands.py are for `arena-bot analyze`.
"""
