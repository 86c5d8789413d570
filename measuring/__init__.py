"""Statistics of matches: scores, luck, intervals and sequential tests.

It does no I/O, and may import `referee`, `machine` and `protocol`.
"""
