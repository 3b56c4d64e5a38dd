# SPDX-License-Identifier: Apache-2.0
"""Handles: one frozen Python object for each C object, found by its name."""

import threading
import weakref
from typing import TYPE_CHECKING

from ._core import ffi, lib, release, survive_fork
from ._program import Family
from .errors import ArgumentError

HANDLES = weakref.WeakValueDictionary()  # number -> the one Python object of a C object
KINDS = {}  # kind -> class
_lock = survive_fork(threading.RLock())


def word(what, given, table):
    """The code of a word, or a sentence that lists the words there are."""
    try:
        return table[given]
    except (KeyError, TypeError):
        words = [key if key.removeprefix("-").isdigit() else repr(key) for key in table if isinstance(key, str)]
        raise ArgumentError(f"{what} is {given!r}; it must be one of {', '.join(words)}") from None


_FORMS = {"N": lib.LAC_PLAIN, "T": lib.LAC_TRANSPOSED, "H": lib.LAC_ADJOINT, "plain": lib.LAC_PLAIN,
          "transposed": lib.LAC_TRANSPOSED, "conjugated": lib.LAC_CONJUGATED, "adjoint": lib.LAC_ADJOINT}  # fmt: skip


def form(op):
    """The code of op: "N" or "plain" for A, "T" or "transposed" for A^T, "H" or "adjoint" for A^H, "conjugated" for
    conj(A)."""
    try:
        return _FORMS[op]
    except (KeyError, TypeError):
        raise _no_form(op) from None


def _no_form(op):
    if isinstance(op, str) and op == "C":
        return ArgumentError(
            'op is "C", which BLAS reads as the conjugate transpose and others as conj(A); say "H" (A^H) or '
            '"conjugated" (conj A)'
        )
    return ArgumentError(f"op is {op!r}; it must be one of {', '.join(map(repr, _FORMS))}")


def expect(who, given, *kinds):
    """The key of an object that must be one of these."""
    if not isinstance(given, kinds):
        way = "; its .pattern is one" if isinstance(getattr(given, "pattern", None), kinds) else ""
        raise ArgumentError(
            f"{who}: expected a lacuna.{' or '.join(k.__name__ for k in kinds)}, got {type(given).__name__}{way}"
        )
    return given.key


def _promise(cls):
    """The class of objects that a compiler takes for those that compiled code will find by their names: they have no
    `c`. What comes out of compiled code finds it when it is first asked for more than sizes (Handle.__getattr__). It is
    made by calling the class, which compilers follow; they do not where a class has its own way to be called.
    """

    class Promise(cls, is_promise=True):
        __new__ = object.__new__

        def named(self, name, sizes):
            for attribute, value in {"key": (name, *sizes), "sizes": sizes, **self.sized(*sizes)}.items():
                object.__setattr__(self, attribute, value)
            return self

    Promise.__name__, Promise.__qualname__, Promise.__module__ = cls.__name__, cls.__qualname__, cls.__module__
    return Promise


class Handle:
    """A C object, frozen: `c` is the pointer, `family` what was made of it, `key` its 64-bit number and its sizes.

    Sizes are in the key so that a compiler has all that it needs to know of an object in a few numbers, and can hold
    them open. A kind has none where they do not say what shapes come of it.
    """

    kind, sizes = None, ()

    def __init_subclass__(cls, is_promise=False):
        if not is_promise:
            KINDS.setdefault(cls.kind, cls)
            cls.Promise = _promise(cls)
        if not is_promise and cls.kind:
            cls._destroy, cls._number = getattr(lib, cls.kind + "_destroy"), getattr(lib, cls.kind + "_id")
            cls._gone = staticmethod(release(cls._destroy, cls.kind))

    def __new__(cls, *_, **__):
        raise ArgumentError(f"a lacuna.{cls.__name__} is not made by calling the class; {cls.made_by}")

    def __setattr__(self, name, _):
        raise AttributeError(f"a lacuna.{type(self).__name__} is frozen: {name} cannot be set")

    @classmethod
    def hold(cls, c, number):
        """The Python object of a pointer that has none yet."""
        made = object.__new__(cls)
        made.__dict__["c"] = c
        made._init()
        made.__dict__.update(family=Family(), key=(number, *made.sizes))
        HANDLES[number] = made
        return made

    @property
    def address(self):
        """The address of the C object, for other bindings of it."""
        return int(ffi.cast("uintptr_t", self.c))

    def _set(self, **attributes):
        self.__dict__.update(attributes)

    @classmethod
    def wrap(cls, pointer, held=()):
        """The Python object of a counted pointer that was handed over. `held` lives as long as anything has its `c`."""
        c = ffi.gc(pointer, release(cls._destroy, cls.kind, held) if held else cls._gone)
        number = cls._number(c)
        with _lock:
            found = HANDLES.get(number)
            if found is None:
                found = cls.hold(c, number)
                found.__dict__["held"] = held
            return found

    def alike(self, pointer):
        """The Python object of a pointer that C has just made and has nowhere else, of an object that has all in common
        with this one that was read from C. It is found by its name once that is asked for (__getattr__)."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, c=ffi.gc(pointer, self._gone))
        for name in ("key", "family"):
            made.__dict__.pop(name, None)
        return made

    def _name(self):
        with _lock:
            if "key" not in self.__dict__:
                number = self._number(self.c)
                self._set(family=Family(), key=(number, *self.sizes))
                HANDLES[number] = self

    def _init(self):
        """What a kind reads from C once."""

    if not TYPE_CHECKING:  # to a type checker every name would be an attribute

        def __getattr__(self, name):
            """What a promised object lacks when it has left compiled code: it gets all that the one that it names
            has. And what an object like another one lacks that nobody has named yet."""
            if name in ("key", "family") and "c" in self.__dict__:
                self._name()
                return self.__dict__[name]
            key = self.__dict__.get("key")
            if key is None or not isinstance(key[0], tuple):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            from ._derived import found

            whole = found(key)
            self.__dict__.update(whole.__dict__, _whole=whole)
            return getattr(self, name)

    @staticmethod
    def sized(*_):
        """The attributes that follow from sizes."""
        return {}

    def __reduce__(self):
        raise TypeError(
            f"a lacuna.{type(self).__name__} cannot be pickled; make it again from the pattern and the values"
        )

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self
