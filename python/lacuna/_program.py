# SPDX-License-Identifier: Apache-2.0
"""Specs and programs: what is frozen in a call of an operator or function, and what C makes of it for given shapes.

A spec has a name, a decimal 64-bit number that is never used again: each process counts from a random number of its
own, so that a graph which outlives its process, in a file or a compiler's cache, meets no other spec of the same name.
Names are what crosses into compiled graphs: those that say what is in the spec (_content.py), which other processes
understand, or the number where there is no such name. Specs live in the family of a pattern (or map, solver, factor)
and die with it, those that stand in a graph never before; a family holds C objects and never the Python object that
owns it, so nothing here is a cycle. Shapes are no part of a spec: `like` goes along with every call, so that one spec
serves all batch sizes. Programs are written and kept by C (program.h); a family remembers what it has read of them,
which spares a call the translation of its shapes.
"""

import itertools
import os
import secrets
import struct
import threading
import weakref

from ._core import WAITING, context, ffi, lib, packing, release, survive_fork
from ._tables import BY_ADDRESS, address
from ._words import said
from .errors import ArgumentError, ShapeError, StaleError

FORWARD, VJP, JVP = range(3)
IN, OUT, OUT_BAR, IN_DOT, IN_BAR, OUT_DOT = (
    getattr(lib, "LAC_ROLE_" + role) for role in ("IN", "OUT", "OUT_BAR", "IN_DOT", "IN_BAR", "OUT_DOT")
)
_MAX_PROGRAMS = 4096  # of a family; beyond, C is asked anew
_MAX_SPECS = 8192  # likewise, but for those that a graph names
_SPECS = weakref.WeakValueDictionary()
_lock = survive_fork(threading.RLock())


def _count_anew():
    """In every process, forked ones too: what a child names, its parent does not know."""
    global _names
    _names = itertools.count(1 + secrets.randbits(62))


_count_anew()
os.register_at_fork(after_in_child=_count_anew)


class Family:
    """All specs made of one pattern, map, solver or factor, derivatives of derivatives included."""

    __slots__ = ("specs", "asked", "programs", "named", "leaving", "__weakref__")

    def __init__(self):
        self.specs = {}  # content -> Spec
        self.asked = {}  # what a front end asked for -> Spec
        self.programs = {}  # (name, mode, like, metas, bits) -> Program, as C keeps it
        self.named = {}  # name -> Spec, of those that stand in graphs of torch
        self.leaving = ()

    def intern(self, c_spec, keep):
        """The spec of this content. `keep` holds what its pointers point to."""
        attrs = c_spec.attrs
        content = (
            address(c_spec.op), tuple(map(address, c_spec.patterns)), address(c_spec.object),
            tuple(attrs.i), struct.pack("2d", *attrs.f), attrs.fit, attrs.like.dtype,
        )  # fmt: skip
        return self._kept(content, lambda: Spec(self, c_spec, keep))

    def intern_function(self, row, objects, ints, floats):
        """The spec of a function with these C objects and numbers."""
        content = row.name, tuple(map(address, objects)), ints, struct.pack(f"{len(floats)}d", *floats)
        return self._kept(content, lambda: FunctionSpec(self, row, objects, ints, floats))

    def _kept(self, content, make):
        with _lock:
            spec = self.specs.get(content)
            if spec is None:
                if len(self.specs) >= _MAX_SPECS:
                    self._forget()
                spec = self.specs[content] = make()
                _SPECS[spec.name] = spec
            return spec

    def _forget(self):
        """Let go of all specs: of one more frozen number with every call there would be no end. Specs live on until the
        next time, because calls may be about to run those that they have just resolved."""
        self.leaving, self.specs, self.asked = self.specs, {}, {}


class _Frozen:
    """What an operator or a function is given besides arrays and shapes."""

    __slots__ = ()
    keys = ()  # its objects are its own; a compiled graph may have calls whose objects are its inputs

    def __init__(self, family, op, c, keep):
        self.name, self.op, self._c, self._keep, self._home = str(next(_names)), op, c, keep, weakref.ref(family)
        self.graph_name, self.origin = None, None

    @property
    def family(self):
        family = self._home()
        if family is None:
            raise _dead(self.name)
        return family

    def program(self, mode, like, metas, wants=0, given=0):
        """The program for inputs of these metas, ((dtype code, shape), ...), which C writes when it is first asked
        for."""
        programs = self.family.programs
        key = (self.name, mode, like, metas, wants, given)
        found = programs.get(key)
        if found is None:
            if len(programs) >= _MAX_PROGRAMS:
                programs.clear()
            found = programs[key] = Program(self, self._write(mode, like, metas, wants, given), key)
        return found

    def stay(self):
        """A graph is about to name this spec: it lives as long as its family. The name for the graph."""
        if self.graph_name is None:
            from ._content import name_of

            self.graph_name = name_of(self) or self.name
        self.family.named[self.name] = self
        _SPECS.setdefault(self.graph_name, self)  # one of several with the same content
        return self.graph_name

    def _metas(self, metas):
        made = ffi.new("lac_meta[]", max(len(metas), 1))
        for c_meta, (code, shape) in zip(made, metas):
            c_meta.dtype = code
            _set_shape(self.op.name, c_meta, shape)
        return made


class Spec(_Frozen):
    """An application of an operator without its inputs and without shapes."""

    is_composed = False
    __slots__ = (
        "name", "graph_name", "origin", "op", "fit", "ints", "in_cores", "out_cores", "_c", "_keep", "_home",
        "__weakref__",
    )  # fmt: skip

    def __init__(self, family, c_spec, keep):
        super().__init__(family, BY_ADDRESS[address(c_spec.op)], ffi.new("lac_spec *", c_spec), keep)
        self.fit, self.ints = bool(c_spec.attrs.fit), tuple(c_spec.attrs.i)
        cores = tuple(lib.lac_spec_core(self._c, i) for i in range(self.op.ins + self.op.outs))
        self.in_cores, self.out_cores = cores[: self.op.ins], cores[self.op.ins :]

    @property
    def attributes(self):
        """All that is frozen in it but its objects."""
        return self.op, self.fit, self.ints, struct.pack("2d", *self.floats), self.dtype

    @property
    def floats(self):
        return tuple(self._c.attrs.f)

    @property
    def dtype(self):
        return self._c.attrs.like.dtype

    @property
    def objects(self):
        """The addresses of its patterns and its object."""
        return [address(c) for c in (*self._c.patterns, self._c.object) if c]

    def _write(self, mode, like, metas, wants, given):
        """The C program."""
        out, c_spec = ffi.new("lac_program **"), ffi.new("lac_spec *", self._c[0])
        _set_shape(self.op.name, c_spec.attrs.like, like)
        if len(metas) != self.op.ins:
            raise ArgumentError(f"{said(self.op.name)}: takes {self.op.ins} inputs, {len(metas)} came")
        ctx, c_metas, ins, outs = context(), self._metas(metas), self.op.ins, self.op.outs
        if mode == FORWARD:
            ctx.check(lib.lac_program_forward(ctx.c, c_spec, c_metas, out))
        elif mode == VJP:
            ctx.check(lib.lac_program_vjp(ctx.c, c_spec, c_metas, _flags(wants, ins), _flags(given, outs), out))
        else:
            ctx.check(lib.lac_program_jvp(ctx.c, c_spec, c_metas, _flags(given, ins), out))
        return out[0]


class FunctionSpec(_Frozen):
    """An application of a function of operators without its inputs and without shapes. It has no rules of its own:
    front ends run its program, or replay its steps."""

    is_composed, dtype, fit = True, 0, False
    __slots__ = ("name", "graph_name", "origin", "op", "ints", "_c", "_keep", "_home", "__weakref__")

    def __init__(self, family, row, objects, ints, floats):
        held = ffi.new("void *[]", objects), ffi.new("int64_t[]", ints), ffi.new("double[]", floats)
        c = {"function": row.c, "objects": len(objects), "object": held[0], "ints": len(ints), "i": held[1]}
        c.update(reals=len(floats), f=held[2])
        super().__init__(family, row, ffi.new("lac_function_spec *", c), (held, objects))
        self.ints = ints

    @property
    def floats(self):
        return tuple(self._c.f[0 : self._c.reals])

    @property
    def objects(self):
        """The addresses of its objects."""
        return [address(c) for c in self._c.object[0 : self._c.objects]]

    def _write(self, _mode, _like, metas, _wants, _given):
        ctx, out = context(), ffi.new("lac_program **")
        ctx.check(lib.lac_program_function(ctx.c, self._c, len(metas), self._metas(metas), out))
        return out[0]


def find(name):
    """The spec of a name. One that says what is in it is found wherever its objects are there again."""
    spec = _SPECS.get(name)
    if spec is None or spec.graph_name == name and spec._home() is None:
        from ._content import restored

        spec = restored(name)
        if spec is None:
            raise _dead(name)
        _SPECS[name] = spec
        spec.stay()
    return spec


def _dead(name):
    return StaleError(
        f"lacuna: call {name} belongs to a pattern, map, solver or factor that no longer exists, or never did in this "
        "process; keep the object alive for as long as a compiled or exported function that uses it; one that names a "
        "solver with options or a factor is exported again in the process that is to run it"
    )


def _set_shape(who, meta, shape):
    if len(shape) > lib.LAC_MAX_DIMS:
        raise ShapeError(f"{who}: shape {tuple(shape)} has {len(shape)} dimensions; {lib.LAC_MAX_DIMS} are the most")
    meta.ndim = len(shape)
    for axis, size in enumerate(shape):
        meta.shape[axis] = size


class Port:
    """An input or result of a program: its role, its index in the operator's call, and its place among the vars."""

    __slots__ = ("role", "index", "var", "code", "shape")

    def __init__(self, c):
        self.role, self.index, self.var, self.code = c.role, c.index, c.var, c.meta.dtype
        self.shape = tuple(c.meta.shape[0 : c.meta.ndim])


_destroy = release(lib.lac_program_destroy, "lac_program")


def _flags(bits, count):
    return ffi.new("int[]", [bits >> i & 1 for i in range(count)])


class Program:
    """A short list of calls, made from shapes alone. It holds the C program, and with it what the spec holds."""

    __slots__ = (
        "c", "key", "inputs", "results", "shapes", "codes", "reads", "takes", "warns", "pack", "outputs", "kept",
        "_steps", "_lone", "_family",
    )  # fmt: skip

    def __init__(self, spec, c, key):
        self.c, self.key = ffi.gc(c, _destroy), key
        self.inputs = [Port(lib.lac_program_input(self.c, i)) for i in range(lib.lac_program_inputs(self.c))]
        self.results = [Port(lib.lac_program_result(self.c, i)) for i in range(lib.lac_program_results(self.c))]
        self.shapes = tuple(port.shape for port in self.results)
        self.codes = tuple(port.code for port in self.results)
        self.reads = tuple((port.role, port.index) for port in self.inputs if port.role in (IN, OUT))
        self.takes = tuple(port.index for port in self.inputs)  # of a function, which may not read all that came
        self.warns = spec.op.is_doubtful
        self.pack = packing(len(self.inputs), len(self.results))
        self._steps, self._lone, self._family = None, False, weakref.ref(spec.family)
        self.outputs, self.kept = None, {}  # a front end's own

    @property
    def steps(self):
        """[(spec, like, input vars, output vars)], for those who run a program call by call."""
        if self._steps is None:
            self._steps = [self._step(i) for i in range(lib.lac_program_steps(self.c))]
        return self._steps

    @property
    def lone(self):
        """(spec, like, where its outputs are the results) where one step with all inputs in order gives them; else
        None."""
        if self._lone is False:
            spec, like, ins, outs = self.steps[0] if len(self.steps) == 1 else (None, (), (), ())
            is_lone = spec and self.takes == tuple(range(len(ins))) and ins == tuple([p.var for p in self.inputs])
            results = [p.var for p in self.results]
            is_lone = is_lone and set(results) <= set(outs)
            self._lone = (spec, like, [outs.index(var) for var in results]) if is_lone else None
        return self._lone

    def _step(self, index):
        c = lib.lac_program_step(self.c, index)
        spec = self._family().intern(c.spec[0], self.c)
        if spec.origin is None and spec.name != self.key[0]:
            spec.origin = *self.key, index  # what it is a step of, for objects that the program made (_content.py)
        like = c.spec.attrs.like
        return spec, tuple(like.shape[0 : like.ndim]), tuple(getattr(c, "in")[0 : c.ins]), tuple(c.out[0 : c.outs])

    def run(self, ctx, ins, outs):
        """Run all steps on addresses of contiguous data; 0 for a result that is absent."""
        table = ctx.table(len(ins))
        self.pack(table.bytes, 0, *outs, *ins)
        self.run_prepared(ctx, table)

    def run_prepared(self, ctx, table):
        """Run all steps on the pointers of a table, which goes back to the context."""
        status = lib.lac_program_run(ctx.c, self.c, table.in_pointers, table.out_pointers)
        if status or WAITING:
            ctx.check(status)
        if self.warns:
            ctx.warn()
        ctx.tables.append(table)
