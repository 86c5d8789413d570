"""Bot processes of the arena. Each has a keeper: another process that kills the bot when the arena ends.

launch_spec.py says how a program is launched. process.py starts a keeper, launcher.py, which runs the program.
bounded_log.py bounds the program's log. bot_commands.py has the commands that start bots: reference bots by name, your
own by file. warmup_notice.py tells the user that a bot is warming up. server_process.py starts whole servers, for the
doctor, tests and measurements.
"""
