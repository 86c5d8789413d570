"""Tournaments: plans that follow from a seed, contestants, hosts, workers and sandboxes.

It imports hosts, processes, the store and the layers below; no server, no command, no page.

- plan.py has the schedule, schedule_limits.py its limits; contestants.py has the bots that play.
- dispatch.py hands matches to workers; job.py has the settings that all matches share. A worker plays matches on a
  host of its own (host.py), in its process (in_process.py), or on a running server (remote.py, play_request.py).
- result_writer.py stores the reports of matches.
- sandbox.py isolates untrusted programs; sandbox_init.py is the first program in a sandbox, sandbox_users.py has the
  users that programs run as.
"""
