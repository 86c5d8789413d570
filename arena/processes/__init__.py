"""Bot processes of the arena: how they are launched, and a keeper for each that ends it with the arena.

It may import `machine` and `protocol`.
"""
