"""The implementation of the `arena` commands, one module each, and helpers that they share: settings, tables, JSON and
CSV output. export.py is `arena export`, which writes tables; `arena replay export`, in replay.py, writes one record.
Only the command line (`arena.cli`, `arena.command_groups`) and other commands import it.
"""
