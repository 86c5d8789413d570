"""What this machine does for both sides: loops compiled, tables kept, work spread, programs run, files in and out."""
