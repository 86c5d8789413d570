"""How the names of bots are compared."""


def folded(name: str) -> str:
    """A name as it is compared and looked up: two that differ in case only are the same bot's."""
    return name.lower()
