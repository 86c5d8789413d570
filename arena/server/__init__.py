"""The arena server: logging in, seeks and pairing, ratings, the feed and the nodes. It builds on the host of matches
(arena/host) and the store. The command `arena serve` and arena/operations use it.
"""
