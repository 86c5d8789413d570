"""Statistics of matches: scores, luck, intervals, sequential tests. May import `protocol`, `referee`, `machine`."""
