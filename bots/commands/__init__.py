"""The commands of `arena-bot`: `analyze`, `compare`, `exploitability`, `kept`, `logs`, `mcp`, `pipe`, `solve`,
`submit`, `trial` and `tune`.

Each command has a module. piped_bot.py has the bot of `pipe`, whose moves come from a program in any language,
piped_program.py the program as a process, piped_lines.py the lines that both exchange, and match_logs.py the logs of
what the program writes. Commands share tuning_options.py and output.py. bots/cli.py defines the command line.
"""
