"""What `arena-bot analyze`, `compare`, `tune` and `trial` do."""
