"""How good a bot is, from its matches: what luck gave taken out, intervals, sequential tests. Pure."""
