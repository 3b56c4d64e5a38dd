# SPDX-License-Identifier: Apache-2.0
"""Names that stand for what Lacuna does not have yet: they are there, and say so when they are used."""

from typing import Any, NoReturn


def later(name, what):
    """A function, or a method, that raises NotImplementedError with the name and what it belongs to."""

    def refused(*_arguments: Any, **_options: Any) -> NoReturn:
        raise NotImplementedError(f"{name}: Lacuna does not have {what} yet")

    refused.__name__ = refused.__qualname__ = name
    refused.__doc__ = f"Not there yet: {what}."
    return refused


def later_class(name, what):
    """A class that cannot be made: its constructor, and whatever is asked of it, raises NotImplementedError."""
    refuse = later(name, what)

    class Meta(type):
        def __getattr__(cls, attribute):
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            return later(f"{name}.{attribute}", what)

    return Meta(name, (), {"__new__": refuse, "__doc__": refuse.__doc__})
