from typing import NamedTuple, Optional, Tuple


class Value(NamedTuple):
    """An input or an output of a network."""

    name: str
    """Its name."""
    shape: Optional[Tuple[int, ...]]
    """Its shape; None if it is known only when the network runs."""
    dtype: Optional[str]
    """The type of its elements as numpy names it; object for texts, None if it is not known."""


Value.__module__ = "millstream"
