"""Bots that a server runs itself, as ordinary clients, so that whoever comes finds an opponent."""
