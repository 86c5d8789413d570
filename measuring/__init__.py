"""Statistics of matches: scores, luck, intervals and sequential tests.

It computes from records and results, without side effects. It may import `protocol`, `referee` and `machine`.
"""
