# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled code whose objects are no constants in it but inputs: a pattern enters by its key, numbers that
Dynamo holds open once it has seen another pattern. The graph has the call as a text, and those numbers.

    (op, keys, ints, floats, dtype)        a request, which `resolve` gives in place of a spec's name while Dynamo reads
    text, [number, rows, cols, nnz, ...]   what stands in a graph
    Open                                   the call while the graph is made: shapes by the signature, in symbols
    find_call(text, numbers)               the spec, when the graph runs

An operator's signature says which sizes of the result are those of inputs, and trials with other sizes say whether it
is the whole truth. The others are the object's, found among the sizes of its key by the present number; where several
are the same now, they are guarded to stay so. What cannot be found so, and a derivative that goes step by step, closes
the call: its numbers are fixed and guarded, and a new pattern means a new graph.

A function of operators is left open where its steps are: it is planned with objects that stand in for those of the
graph, of other sizes, and each step names the objects of the request that it has. What a function makes of its objects,
maps and patterns, closes it. A map that is an identity, as one made of patterns can be by chance, leaves no step: a
function is therefore planned with patterns whose entries fill rows, and with others whose entries fill columns.
"""

import ast
import functools
import re
from types import SimpleNamespace

import numpy as np
import torch

from .. import _derived, _operators
from .._derived import fixed, found
from .._program import FORWARD, IN_BAR, find
from .._requests import spec_of
from .._tables import FUNCTIONS
from ..errors import LacunaError, ShapeError, StaleError, UnsupportedError
from ..map import Map
from ..pattern import Pattern
from ..solver import Solver
from ._private import fixed_size, present_size
from ._symbolic import Plan, plan

is_dynamo_compiling = torch.compiler.is_dynamo_compiling
_derived.is_traced = is_dynamo_compiling
_OTHER = 1_000_003  # a size that no array has


def resolve(op, keys, ints, floats, dtype):
    """A spec; while Dynamo reads, the request of one where it can be left open, else its name."""
    if not is_dynamo_compiling():
        return spec_of(op, keys, ints, floats, dtype)
    if all([len(key) > 1 for key in keys]):
        return op, keys, ints, floats, dtype
    return _operators.resolve(op, tuple([fixed(key) for key in keys]), ints, floats, dtype)


def _spell(key, numbers):
    """The form of a key, whose numbers are put behind the others."""
    name = key[0]
    if isinstance(name, tuple):
        what, keys, arguments, place = name
        name = what, tuple([_spell(k, numbers) for k in keys]), arguments, place
    else:
        numbers.append(name)
        name = None
    numbers.extend(key[1:])
    return name, len(key) - 1


def _fill(form, numbers):
    """The key of a form, with its numbers from an iterator."""
    name, count = form
    if name is None:
        name = next(numbers)
    else:
        what, forms, arguments, place = name
        name = what, tuple([_fill(f, numbers) for f in forms]), arguments, place
    return (name, *[next(numbers) for _ in range(count)])


@functools.lru_cache(1024)
def _read(text):
    return ast.literal_eval(text)


def _request(text, numbers):
    op, forms, *attributes = _read(text)
    numbers = iter(numbers)
    return op, tuple([_fill(form, numbers) for form in forms]), *attributes


def call_of(request):
    """The spec of a request, an open call where numbers of it are symbols."""
    op, keys, *attributes = request
    numbers = []
    forms = tuple([_spell(key, numbers) for key in keys])
    if all([type(n) is int for n in numbers]):
        return find(_operators.resolve(*request))
    return find_call(repr((op, forms, *attributes)), numbers)


def find_call(text, numbers):
    """The call of a name and numbers in a graph."""
    if not numbers:
        return find(text)
    if any([type(n) is not int and fixed_size(n) is None for n in numbers]):
        return (OpenFunction if _read(text)[0] in FUNCTIONS else Open)(text, numbers)
    numbers = tuple([int(n) for n in numbers])
    try:
        return _living(_name_of(text, numbers))
    except StaleError:  # the objects are gone, which is said anew; or they have forgotten their specs
        _name_of.cache_clear()
        return find(_name_of(text, numbers))


def _living(name):
    spec = find(name)
    return spec if spec.family is not None else None  # a family that is gone is an error


@functools.lru_cache(4096)
def _name_of(text, numbers):
    """The name of the spec that a graph asks for. Numbers of objects are never used again."""
    return _operators.resolve(*_request(text, numbers))


@functools.lru_cache(None)
def _letters(signature):
    """The letters of inputs and of outputs."""
    return tuple([[part.split(",") if part else [] for part in re.findall(r"\(([^)]*)\)", side)]
                  for side in signature.split("->")])  # fmt: skip


def _core(letters, core):
    """Names for the dimensions of a core: letters, and numbers for what is carried along behind them."""
    return [*letters, *range(core - len(letters))]


def _broadcast(batch, other):
    size = max(len(batch), len(other))
    pairs = zip((1,) * (size - len(batch)) + tuple(batch), (1,) * (size - len(other)) + tuple(other))
    return tuple([b if fixed_size(a) == 1 else a for a, b in pairs])


def _places(name, names):
    """Where it is, counted from the end."""
    return [back for back, other in enumerate(reversed(names), 1) if other == name]


def _changes(before, after):
    return [back for back, (b, a) in enumerate(zip(reversed(before), reversed(after)), 1) if a != b]


class Open:
    """A call with symbols for objects. `spec` is the one of the objects that are there while the graph is made."""

    __slots__ = ("name", "keys", "spec")

    def __init__(self, text, numbers):
        self.name, self.keys = text, tuple(numbers)
        self.spec = find(_operators.resolve(*_request(text, [present_size(n) for n in numbers])))

    def __getattr__(self, attribute):
        return getattr(self.spec, attribute)

    def stay(self):
        """A graph finds it by its objects, which it is given."""
        return self.name

    def closed(self):
        """The spec, for good."""
        spec = find_call(self.name, [int(n) for n in self.keys])
        spec.stay()
        return spec

    def plan(self, mode, like, metas, wants, given):
        """As of a spec, but with symbols in the shapes of results."""
        like_now = tuple(map(present_size, like))
        now = tuple([(code, tuple(map(present_size, shape))) for code, shape in metas])
        if None in like_now or any([None in shape for _, shape in now]):  # sizes that nothing is known about
            return plan(self.closed(), mode, like, metas, wants, given)
        program = self.spec.program(mode, like_now, now, wants, given)
        shapes = [self.shape(port, metas) for port in program.results]
        if None in shapes or not self.keeps_signature(like_now, now):
            return plan(self.closed(), mode, like, metas, wants, given)
        results = [SimpleNamespace(role=port.role, index=port.index, var=port.var, code=port.code, shape=shape)
                   for port, shape in zip(program.results, shapes)]  # fmt: skip
        planned = SimpleNamespace(inputs=program.inputs, results=results, reads=program.reads, steps=program.steps)
        return planned, lambda shape: shape

    def shape(self, port, metas):
        """The shape of a result in symbols, or None."""
        shape = metas[port.index][1] if port.role == IN_BAR else self.out_shape(port, metas)
        if shape is None or tuple(map(present_size, shape)) != port.shape:
            return None
        return tuple(shape)

    def out_shape(self, port, metas):
        ins, outs = _letters(self.op.signature)
        bound, batch = {}, ()
        for letters, core, (_, shape) in zip(ins, self.in_cores, metas):
            split = len(shape) - core
            batch = _broadcast(batch, shape[:split])
            for name, size in zip(_core(letters, core), shape[split:]):
                bound.setdefault(name, size)
        names = _core(outs[port.index], self.out_cores[port.index])
        core = port.shape[len(port.shape) - len(names) :]
        sizes = [bound[name] if name in bound else self.own(number) for name, number in zip(names, core)]
        return None if None in sizes else (*batch, *sizes)

    def keeps_signature(self, like, now):
        """Whether, for all sizes of inputs that can change alone, results change just where they have the same
        letter."""
        ins, outs = _letters(self.op.signature)
        before = self.spec.program(FORWARD, like, now).shapes
        for i, (code, shape) in enumerate(now):
            for back, name in enumerate(reversed(_core(ins[i], self.in_cores[i])), 1):
                other = (*shape[: len(shape) - back], _OTHER, *shape[len(shape) - back + 1 :])
                after = self.tried(like, (*now[:i], (code, other), *now[i + 1 :]))
                named = [_places(name, _core(letters, core)) for letters, core in zip(outs, self.out_cores)]
                if after and [_changes(b, a) for b, a in zip(before, after)] != named:
                    return False
        return True

    def tried(self, like, metas):
        """The shapes of the results for other inputs, None where these are refused."""
        try:
            return self.spec.program(FORWARD, like, metas).shapes
        except LacunaError:
            return None

    def own(self, number):
        """The size of an object that is this number now; None where there is none."""
        _, keys, *_ = _request(self.name, self.keys)
        first, *others = [size for key in keys for size in key[1:] if present_size(size) == number] or [None]
        return first if all([bool(first == other) for other in others]) else None


@functools.lru_cache(64)
def _stand_in(kind, sizes, place, by_rows):
    """An object of a kind with these sizes, whose entries fill rows or columns, from another place on for each object
    of a call."""
    if kind is Map:
        inputs, outputs = sizes
        return Map(np.arange(inputs)[::-1] % max(outputs, 1), outputs)
    rows, cols, nnz = sizes
    if nnz > rows * cols:
        raise ShapeError(f"lacuna: a matrix of {rows} x {cols} has no {nnz} entries")
    cells = (np.arange(nnz) + place) % max(rows * cols, 1)
    outer, inner = np.divmod(cells, max(cols if by_rows else rows, 1))
    pattern = Pattern.from_coo(*((outer, inner) if by_rows else (inner, outer)), (rows, cols))
    return pattern if kind is Pattern else Solver(pattern)


class _Step:
    """An operator's call within a function: what is frozen in it, its objects by their places in the request."""

    __slots__ = ("attributes",)

    def __init__(self, spec, places):
        if any([address not in places for address in spec.objects]):
            raise UnsupportedError(f"{spec.op.name}: an object of it is made within the function")
        floats = tuple([x.hex() for x in spec.floats])
        self.attributes = (spec.op.name, tuple([places[a] for a in spec.objects]), spec.ints, floats, spec.dtype)

    def call(self, keys):
        """The call of it with the keys of a request."""
        op, places, *attributes = self.attributes
        return call_of((op, tuple([keys[i] for i in places]) or _operators.NO_OBJECTS, *attributes))


class OpenFunction(Open):
    """A call of a function with symbols for objects."""

    __slots__ = ()

    def plan(self, mode, like, metas, wants, given):
        """The program of numbers that stand in, its steps as open calls; of the closed function where that cannot
        be."""
        op, keys, *attributes = _request(self.name, self.keys)
        names = [tuple(map(_present, key)) for key in keys]
        kinds = [type(found(name)) for name in names]
        codes, places = [code for code, _ in metas], [names.index(name) for name in names]

        def written(shapes, turn):
            parts = zip(kinds, shapes[len(codes) :], places)
            objects = [_stand_in(kind, sizes, place, (place + turn) % 2 == 0) for kind, sizes, place in parts]
            spec = find(_operators.resolve(op, tuple([o.key for o in objects]), *attributes))
            return _with_places(spec.program(FORWARD, (), tuple(zip(codes, shapes))), objects)

        def make(*shapes):
            made, other = (written(shapes, turn) for turn in range(2))
            if [step[0].attributes for step in made.steps] != [step[0].attributes for step in other.steps]:
                raise UnsupportedError(f"{op}: what it calls hangs on where entries are")
            return made

        shapes = [*[tuple(shape) for _, shape in metas], *[key[1:] for key in keys]]
        made = Plan(make, shapes).solve(is_needed=False)
        if made is None:
            return plan(self.closed(), mode, like, metas, wants, given)
        made[0].steps = [(step.call(keys), *rest) for step, *rest in made[0].steps]
        return made


def _present(part):
    """A part of a key, with the numbers that its symbols are now."""
    if isinstance(part, tuple):
        return tuple([_present(p) for p in part])
    return part if isinstance(part, (str, int)) and not isinstance(part, torch.SymInt) else present_size(part)


def _with_places(program, objects):
    """A program of which each step says which of these objects it has; a pattern may stand for its solver."""
    places = {}
    for place, handle in enumerate(objects):
        for one in (handle, handle.solver()) if isinstance(handle, Pattern) and handle.is_solved else (handle,):
            places[one.address] = place
    steps = [(_Step(spec, places), *rest) for spec, *rest in program.steps]
    return SimpleNamespace(
        inputs=program.inputs, results=program.results, shapes=program.shapes, takes=program.takes, steps=steps
    )
