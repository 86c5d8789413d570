"""The command line of `arena replay`, `arena bot` and `arena db`, and options that several commands share."""
