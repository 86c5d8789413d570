"""Bot processes of the arena, each with a keeper that ends it with the arena.

launch_spec.py says how a program is launched. process.py starts it and keeps it running, launcher.py is the keeper
between. bounded_log.py bounds its log. bot_commands.py has the commands of reference bots, by name, and of your
own, by file. warmup_notice.py says that a bot warms up.
"""
