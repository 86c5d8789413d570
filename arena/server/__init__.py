"""The arena server: logins, the lobby, ratings, the feed and the nodes. It builds on the lobby (arena/lobby), the host
of matches (arena/host) and the store. `arena serve` starts it, and arena/operations controls it.

- arena.py puts all parts together. lobby_runner.py feeds events to the lobby and performs its effects. bot_loader.py
  reads for it from the store. match_headers.py makes the headers of matches.
- auth.py identifies clients, and stores when bots were last seen. guess_limits.py limits guesses of tokens.
- assigned_matches.py plays the matches that the operator assigns, and requested_matches.py starts those that owners of
  hosted bots ask for.
- hosting.py keeps the runners of hosted bots, and hosted_matches.py has them play the matches of tournaments.
- feed_publisher.py publishes to the MQTT broker, and republishes `end` messages that the broker lacks.
- nodes.py tracks the servers that share the database. stall_guard.py stops a server that was suspended for too long.
- warnings.py has the warnings for the operator. action_log.py logs the changes that the operator makes.
"""
