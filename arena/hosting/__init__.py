"""Hosted bots: programs that their authors hand in, and that the arena checks and runs. Pure: no I/O.

submission.py reads what was handed in, within the limits of limits.py. manifest.py has what a program declares about
itself, and languages.py how programs of a language are built and started. kept_files.py reads what a program keeps
between matches. fleet.py decides which runner runs which bot, with match_slots.py also which plays which match of a
tournament, and schedule.py when planned tournaments begin.

The rest is elsewhere: arena/store/bot_versions.py keeps the versions, bot_logs.py and bot_states.py what they wrote and
keep. arena/server/hosting.py tells runners what to run, hosted_matches.py what to play. arena/runner is a runner,
arena/web/submissions.py takes submissions and the wishes of owners, and arena/web/bot_logs.py and kept_files.py show
logs and files.
"""
