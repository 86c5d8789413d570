"""The reference bots, all of them ordinary clients, and what the searching ones share."""
