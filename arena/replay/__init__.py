"""Records looked at again: whether they are true, what their lines say, how good each move was."""
