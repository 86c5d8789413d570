"""The commands of `arena-bot`: `analyze`, `compare`, `exploitability`, `mcp`, `pipe`, `solve`, `trial` and `tune`.

Each command has a module. pipe.py also has the bot whose moves come from a program in any language. Commands share
tuning_options.py and output.py. bots/cli.py defines the command line.
"""
