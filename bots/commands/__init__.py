"""The commands of `arena-bot`: `analyze`, `compare`, `exploitability`, `kept`, `logs`, `mcp`, `pipe`, `solve`,
`submit`, `trial` and `tune`.

Each command has a module. pipe.py also has the bot whose moves come from a program in any language, and
match_logs.py the logs that it keeps of what the program writes. Commands share
tuning_options.py and output.py. bots/cli.py defines the command line.
"""
