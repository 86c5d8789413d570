"""Hosts matches: sessions, match runners, clocks, journals and spectators. Uses no ladder, tournament or database.

- host.py puts all parts together: it admits clients, and resumes matches from their journals. handler.py is the only
  interface to the owner of the host, a ladder or a tournament. A match leaves its host in one way: host.py passes it
  to the owner as a value, finished_match.py, and performs what follows when the owner has stored it.
- session.py has the connection of one client. client_registry.py knows all clients and their seats. actions.py handles
  their messages.
- runner.py runs a match, and suspends it while it can't be recorded; backlog.py has what arrives meanwhile. meters.py
  measures how long moves take. broadcast.py sends messages to spectators, spectator_views.py has what new ones get.
- journal.py has the file of a match, recorder.py writes it, commit_log.py syncs it.
- quotas.py limits the matches, memory and disk per address. journal_weights.py measures the journals. work_queue.py
  divides bursts of work into pieces.
- event_log.py logs events, and notes the incidents that bots cause.

Commit log: with `--durability machine`, the lines that all matches write in a turn of the event loop also go into a
commit log, and a thread syncs them together. Lines that are written meanwhile wait for the next sync. When a commit log
is full, a second one takes over, and the journals in the first are synced. After a crash, the next start repairs the
journals from both.

Order and fairness:

- A message for a match waits until all earlier ones are recorded.
- When a client leaves, it is removed from its seats and from the matches that it watched. This work is divided into
  pieces, and charged to the client.
- Clocks that expire together are handled for about a millisecond in each turn of the event loop.
- While spectators get one round of messages, new messages wait for the next round.
- A timeout is declared only after every frame that had arrived was processed. The time of a move is
  that of its arrival.
"""
