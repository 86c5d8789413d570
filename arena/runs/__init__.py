"""Runs: tournaments and tests, from their plan to their results. Imports no command, no page, no server and not `bots`.

A run of bots as processes passes these ten files:

1. plan.py has the terms that identify a tournament, and its plan: the schedule, and which matches are missing.
2. run.py has the loop: it has players play what is missing, and hands their reports to a ledger, round by round.
3. workers.py has players that are workers, of this machine or of a cluster.
4. job.py has what a worker is given, and the reports that it returns.
5. host_pool.py keeps the hosts of a worker for the next matches.
6. match_host.py is a host: it plays one match after the other.
7. bot_processes.py starts the bots, and decides what follows when one fails.
8. bot_gate.py lets the bots in, and learns how their match ends.
9. waiting_room.py decides when a bot that keeps a match waiting is late.
10. result_writer.py has the ledger of commands: it stores the results, and rates them in schedule order.

In place of 5 to 9, in_process.py plays with bots in the worker's process. In place of 3 to 9, connected.py has a server
play among its bots: this one, or one that remote.py asks (play_request.py); hosted_players.py has its runners play.

contestants.py reads which bots play, schedule_limits.py has the limits of schedules. sandbox.py isolates untrusted
programs; sandbox_init.py is the first program in a sandbox, sandbox_users.py has the users that programs run as.
"""
