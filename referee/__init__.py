"""The referee of one match, pure: time comes in as an argument, effects go out as values."""
