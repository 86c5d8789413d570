"""A schedule that follows from its seed, and the bot processes that play it through an arena of its own."""
