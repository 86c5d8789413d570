"""Handlers of operator requests to a running server, and the server's maintenance tasks, one module per subject.

`arena serve` registers the handlers and starts the tasks; arena/commands sends the requests.

- Requests: status.py, administration.py, names.py, draining.py, hosting.py and bot_files.py for hosted bots, and
  tournaments.py for those that the server plays itself.
- Maintenance: thinning.py and archiving.py for old records, also those in files; disk_space.py, backups.py.
- plans.py has the requests about planned tournaments of hosted bots; planned_tournaments.py plays them at their times.
- metrics.py has what is counted and measured, prometheus.py how Prometheus reads it.
"""
