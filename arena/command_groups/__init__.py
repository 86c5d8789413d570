"""The words of `arena replay`, `arena bot` and `arena db`, and of options that several commands share."""
