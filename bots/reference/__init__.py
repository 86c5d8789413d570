"""The reference bots, ordinary clients all of them, and what those that search have in common."""
