"""What this machine does for both sides: loops compiled, tables kept on disk, files that a command line names."""
