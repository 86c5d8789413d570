"""The arena server: logins, seeks and pairing, ratings, the feed and the nodes. It builds on the host of matches
(arena/host) and the store. `arena serve` starts it, and arena/operations controls it.

- arena.py is the whole. ladder.py says who may seek what, seek_index.py finds seeks, matchmaking.py pairs them.
- auth.py says who a client is and when bots were last seen. guess_limits.py limits guessed tokens.
- playban.py suspends bots that miss matches. bot_cache.py holds what the store says of the bots that are here, and
  which matches are rated. assigned_matches.py has the matches that the operator assigns.
- feed_publisher.py feeds the broker, and publishes again the ends that it has not got.
- nodes.py knows the servers that share the database, stall_guard.py ends one that was frozen.
- warnings.py tells the operator what needs attention, drain.py ends the server when its matches are over, and
  action_log.py keeps what the operator does.
"""
