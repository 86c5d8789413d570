"""The doctor: it examines how a bot reacts to network faults, played to it one by one on an arena of its own."""
