"""The library for authors of bots: `Bot` and `Turn`, the client that connects and converses, its settings and
tokens.
"""
