"""Who is how strong, who plays whom, and the table that comes of it. Pure."""
