"""The commands of `arena-bot`: `analyze`, `compare`, `exploitability`, `mcp`, `pipe`, `solve`, `trial` and `tune`.

A module each. pipe.py also has the bot that asks a program in any language, with its process and its lines.
tuning_options.py and output.py are shared. bots/cli.py has the options.
"""
