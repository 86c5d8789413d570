"""What an author uses: `Bot` and `Turn`, the client that connects and converses, its settings and tokens."""
