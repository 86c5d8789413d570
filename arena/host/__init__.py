"""Hosts matches: sessions, match runners, clocks, journals and spectators. Uses no ladder, tournament or database.

- host.py is the whole: how a client comes in, and how a match comes back from its journal. handler.py is the only
  interface to its owner, a ladder or a tournament.
- session.py is a client, client_registry.py says who is connected and plays where, actions.py handles each message.
- runner.py runs a match and suspends it while it cannot be recorded; meters.py measures one. broadcast.py tells
  spectators.
- journal.py is the file of a match, recorder.py writes it, commit_log.py syncs it.
- quotas.py counts what the host keeps for whom, journal_weights.py the journals' part of that. work_queue.py
  divides bursts of work into pieces.
- event_log.py logs what happens and notes what bots do to themselves.

Commit log: with `--durability machine`, the lines that all matches wrote in a turn also go into a commit log, and a
thread syncs them together. What is written meanwhile waits for the next sync. When a commit log is full, a second
one takes over, and the journals in the first are synced. After a crash, the next start repairs the journals from
both.

Messages for a match wait until what came before is recorded. A client that leaves is removed from its seats and
from what it watched in pieces, which are charged to it. Clocks that expire together are handled a millisecond at a
time. What happens while spectators are served goes into their next batch. A timeout is declared only after every
frame that had arrived was looked at; a move counts by when it arrived.
"""
