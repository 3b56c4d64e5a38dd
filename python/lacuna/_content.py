# SPDX-License-Identifier: Apache-2.0
"""Names of specs that other processes understand: all that is frozen in a call, its objects by what is in them.

    (version, operator, objects, ints, floats, dtype, fit)      the name, as a text; of a function "functions.NAME"
    (version, name, mode, like, metas, wants, given, step)      a step of a program, which makes objects of its own
    (kind, sizes, digest)                                       a pattern or a map
    (what, objects, arguments, place)                           what was derived of patterns (_derived.py)

A graph that outlives its process, in a file or a compiler's cache, finds its calls by these names wherever the patterns
are there again. A pattern's solver has such a name where its options are words and numbers. Other solvers and factors
have none: a graph that names one of them is good in its process alone.
"""

import ast
import hashlib

from ._core import ffi, lib, text
from ._derived import found, is_plain, kept_or_made, youngest
from ._handle import HANDLES
from ._program import find
from ._tables import FUNCTIONS, OPERATORS
from ._requests import ARRAYS
from .errors import StaleError
from .pattern import Map, Pattern

_VERSION = text(lib.lac_version())


def _digest(handle):
    """A hash of all numbers of a pattern or a map, found once."""
    if "digest" not in handle.__dict__:
        arrays = handle.structure()[:2] if isinstance(handle, Pattern) else (handle.target,)
        made = hashlib.blake2b(repr(getattr(handle, "blocks", ())).encode(), digest_size=16)
        for array in arrays:
            made.update(array.tobytes())
        handle._set(digest=made.hexdigest())
    return handle.digest


def _identity(handle):
    """What names an object everywhere; None where nothing does."""
    if handle is None:
        return None
    if "origin" in handle.__dict__:
        what, keys, arguments, place = handle.origin
        parts = [_identity_of_key(key) for key in keys]
        return None if None in parts or not is_plain(arguments) else (what, tuple(parts), arguments, place)
    return (handle.kind, handle.sizes, _digest(handle)) if isinstance(handle, (Pattern, Map)) else None


def _identity_of_key(key):
    """What names the object of a key, which may be derived itself; None where the object is gone."""
    try:
        return _identity(found(key))
    except StaleError:
        return None


def name_of(spec, asked=()):
    """The name of a spec, or None where one of its objects has none. `asked` are the specs whose names need it: a step
    of the other's derivative each, remap and its transpose name nobody."""
    if spec in asked:
        return None
    addresses = spec.objects
    known = {handle.address: handle for handle in list(HANDLES.values())} if addresses else {}
    objects = [_identity(known.get(address)) for address in addresses]
    if None in objects:
        return _name_of_step(spec, (*asked, spec))
    op, floats = ("functions." * spec.is_composed) + spec.op.name, tuple([x.hex() for x in spec.floats])
    return repr((_VERSION, op, tuple(objects), spec.ints, floats, spec.dtype, spec.fit))


def _name_of_step(spec, asked):
    """By the program that it is a step of: C writes the same one everywhere."""
    if spec.origin is None:
        return None
    parent, mode, like, metas, wants, given, index = spec.origin
    name = name_of(find(parent), asked)
    metas = tuple([(code, tuple(shape)) for code, shape in metas])
    return name and repr((_VERSION, name, mode, tuple(like), metas, wants, given, index))


# -- in the process that reads the name -------------------------------------------------------------------------------


def _found(identity):
    """The object of this process that an identity names."""
    if len(identity) == 4:
        what, parts, arguments, place = identity
        return kept_or_made(what, tuple([_found(part).key for part in parts]), arguments)[place]
    kind, sizes, digest = identity
    for handle in list(HANDLES.values()):
        if (handle.kind, handle.sizes) == (kind, sizes) and _digest(handle) == digest:
            return handle
    what = "pattern" if kind == "lac_pattern" else "map"
    raise StaleError(
        f"lacuna: a graph needs the {what} of sizes {sizes} and digest {digest}, which no longer exists, or never did "
        "in this process; make it again (it pickles), and keep it alive for as long as the graph is used"
    )


def restored(name):
    """The spec of a name that another process gave; None where it is none."""
    if not name.startswith("("):
        return None
    version, *parts = ast.literal_eval(name)
    if version != _VERSION:
        raise StaleError(f"lacuna: a graph was made by Lacuna {version}, and this is {_VERSION}; export it again")
    if parts[0].startswith("("):
        parent, *call, step = parts
        return find(parent).program(*call).steps[step][0]
    return _applied(*parts)


def _applied(op, identities, ints, floats, dtype, fit):
    """The spec of an operator or function on objects of this process."""
    handles = [_found(identity) for identity in identities]
    family, held = (youngest(handles) if handles else ARRAYS).family, [handle.c for handle in handles]
    floats = tuple([float.fromhex(x) for x in floats])
    if op in FUNCTIONS:
        return family.intern_function(FUNCTIONS[op], held, ints, floats)
    c, patterns = ffi.new("lac_spec *"), [handle.c for handle in handles if isinstance(handle, Pattern)]
    c.op, c.attrs.like.dtype, c.attrs.fit = OPERATORS[op].c, dtype, fit
    c.patterns[0 : len(patterns)] = patterns
    c.object = next((handle.c for handle in handles if not isinstance(handle, Pattern)), ffi.NULL)
    c.attrs.i[0 : len(ints)], c.attrs.f[0 : len(floats)] = ints, floats
    return family.intern(c[0], held)
