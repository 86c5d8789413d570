"""Facts about positions and searches, computed: what `arena-bot analyze`, `compare` and `trial` print."""
