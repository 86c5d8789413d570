"""Bots in any language: programs that read a line of JSON for each message and write one for each move."""
