"""What the operator may have a running server do: one module for each kind of thing, with its requests and answers."""
