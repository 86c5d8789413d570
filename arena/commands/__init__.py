"""The `arena` commands, one module each, and what they share. arena/cli.py has their options.

- Settings: settings.py describes each setting of a server once, config.py finds its value. listening.py has what a
  server listens on and who may connect, quota_limits.py and fd_limits.py its limits.
- A server: serve.py runs one, node_process.py makes it a node, serve_nodes.py runs several on one machine.
  disk_room.py waits for disk space before anything opens, restart.py starts the server again as the same process,
  certificate.py looks after its certificate. data_dir.py holds the data folder for a command. metrics.py says where
  metrics are answered.
- Display: output.py and progress.py print, match_view.py and step_viewer.py draw matches, file_watch.py runs a
  command again at every save.
- Replays: kept_estimates.py keeps what `grade` estimated, rerun_report.py prints what another bot in a seat was
  worth, record_checks.py compares a record with what `replay verify` is given.
- Tests and tournaments: sprt_display.py and sprt_plan.py belong to `arena test`, tournament_options.py and
  tournament_report.py to `arena tournament`, name_list.py reads lists of bots. node_table.py prints nodes.
- server_or_local.py lets a command act through a running server, or by itself where none runs.
"""
