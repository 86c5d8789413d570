"""The commands of `arena-bot`: `analyze`, `compare`, `exploitability`, `mcp`, `pipe`, `solve`, `trial` and `tune`."""
