"""The arena server: logins, seeks and pairing, ratings, the feed and the nodes. It builds on the host of matches
(arena/host) and the store. `arena serve` starts it, and arena/operations controls it.

- arena.py puts all parts together. ladder.py checks seeks, seek_index.py finds them, matchmaking.py pairs them.
- auth.py identifies clients, and stores when bots were last seen. guess_limits.py limits guesses of tokens.
- playban.py suspends bots that miss matches. bot_cache.py caches the ratings and encounters of bots, and decides which
  matches are rated. assigned_matches.py plays the matches that the operator assigns.
- feed_publisher.py publishes to the MQTT broker, and republishes `end` messages that the broker lacks.
- nodes.py tracks the servers that share the database. stall_guard.py stops a server that was suspended for too long.
- warnings.py has the warnings for the operator. drain.py stops the server when its matches are over. action_log.py logs
  the changes that the operator makes.
"""
