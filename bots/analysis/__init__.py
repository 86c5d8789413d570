"""Facts about positions and searches, computed: what `arena-bot analyze` and `compare` print."""
