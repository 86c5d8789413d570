"""The lobby: which bots wait for matches, and who plays whom. It is pure, like the referee: events in, effects out.

- lobby.py receives events (events.py) and returns effects (effects.py). The table at its end says what handles each
  event.
- policy.py has the limits and delays. seek_checks.py refuses seeks by their fields, lobby.py those of bots that may not
  seek now, because of slots, nodes, quotas or suspensions.
- pairing.py pairs active seeks in rounds of small steps. seeks.py has the index of active seeks, without ratings.
  ladder_pairing.py chooses the matches that tell most about ratings.
- roster.py knows who is connected and who plays, and how many matches may start for a bot. suspensions.py suspends bots
  that miss matches; machine/keyed_limiter.py doubles their pauses.
- assignments.py has the matches that the operator assigns, while they wait for their bots.
- known_bots.py has the ratings and encounters of bots, and decides which matches are rated.
- log.py writes and replays the events of a lobby. explanation.py says why a seek has not become a match.

The server (arena/server/lobby_runner.py) turns messages into events and performs the effects.
"""
