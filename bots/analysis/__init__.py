"""Facts about positions and searches, computed for `arena-bot analyze` and `arena-bot compare`."""
