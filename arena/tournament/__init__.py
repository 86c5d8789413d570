"""Tournaments: plans that follow from a seed, contestants, hosts, workers and sandboxes.

It may import the server and the layers below, but not `bots`.

- plan.py is the schedule, within schedule_limits.py; contestants.py has who plays.
- dispatch.py hands matches to workers, with a job.py that says how. A worker plays them on a host of its own
  (host.py), in its process (in_process.py), or by the bots of a running server (remote.py, play_request.py).
- result_writer.py stores the reports.
- sandbox.py isolates untrusted programs; sandbox_init.py is the first program in it, sandbox_users.py the users
  they run as.
"""
