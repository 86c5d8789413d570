"""The arena server: logins, seeks and pairing, ratings, the feed and the nodes. It builds on the host of matches
(arena/host) and the store. `arena serve` starts it, and arena/operations controls it.
"""
