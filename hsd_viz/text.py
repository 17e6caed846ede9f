"""Plurals of counted nouns, and escaping of text for HTML."""


def counted(n: int, noun: str) -> str:
    """Return a number followed by its noun, in the plural unless the number is 1.

    >>> counted(1, "thread"), counted(4, "thread"), counted(2, "forward pass")
    ('1 thread', '4 threads', '2 forward passes')
    """
    if n != 1:
        noun += "es" if noun.endswith("s") else "s"
    return f"{n} {noun}"


def escape(text: object) -> str:
    """Escape text for HTML; lone surrogates become U+FFFD."""
    import html

    return html.escape(str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
