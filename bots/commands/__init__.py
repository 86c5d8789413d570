"""What `arena-bot analyze`, `compare`, `pipe`, `solve`, `trial` and `tune` do."""
