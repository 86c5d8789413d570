"""The lobby: which bots wait for matches, and who plays whom. It is pure, like the referee: events in, effects out.

- lobby.py receives events (events.py) and returns effects (effects.py). Its last lines say what each event does.
- policy.py has the limits and delays. seek_checks.py checks what a seek asks for.
- pairing.py pairs active seeks in rounds of small steps. seeks.py finds seeks. ladder_pairing.py chooses the matches
  that tell most about ratings.
- roster.py knows who is connected and who plays, and how many matches may start for a bot. suspensions.py suspends bots
  that miss matches.
- assignments.py has the matches that the operator assigns, while they wait for their bots.
- known_bots.py has the ratings and encounters of bots, and decides which matches are rated.
- log.py writes and replays the events of a lobby. explanation.py says why a seek has not become a match.

The server (arena/server/lobby_runner.py) turns messages into events and performs the effects.
"""
