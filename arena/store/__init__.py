"""What the arena keeps: bots, results, ratings, records and tournaments, in one SQLite file."""
