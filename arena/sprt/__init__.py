"""What a test of two bots asks, what its matches say, and how that is told. Pure."""
