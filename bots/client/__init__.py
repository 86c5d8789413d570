"""The library for authors of bots: `Bot` and `Turn`, the client that connects, its settings and tokens."""
