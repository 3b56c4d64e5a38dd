# SPDX-License-Identifier: Apache-2.0
"""Bundles of options that hold within a `with` block or a decorated function, inner ones over outer ones."""

from __future__ import annotations

import contextvars
import dataclasses
import functools
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class Scoped:
    """A frozen dataclass whose fields are None where they say nothing. What is given in a call wins, then the inner
    scope, then the outer one. Threads and tasks have scopes of their own."""

    _stack: ClassVar[contextvars.ContextVar[tuple[Scoped, ...]]]

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._stack = contextvars.ContextVar(cls.__name__, default=())

    def __enter__(self) -> Self:
        self._stack.set((*self._stack.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.set(self._stack.get()[:-1])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def scoped(*arguments, **options):
            with self:
                return function(*arguments, **options)

        return scoped

    def replace(self, **changes: Any) -> Self:
        """The same with other fields."""
        return dataclasses.replace(self, **changes)

    def said(self) -> dict[str, Any]:
        """{field: value} of what is not None."""
        names = [field.name for field in dataclasses.fields(self)]
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @classmethod
    def merged(cls, given: dict[str, Any]) -> dict[str, Any]:
        """What is said by the scopes around and by a call."""
        found = {}
        for scope in (*cls._stack.get(), cls(**given)):
            found.update(scope.said())
        return found
