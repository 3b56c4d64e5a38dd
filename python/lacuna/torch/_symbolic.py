# SPDX-License-Identifier: Apache-2.0
"""Dynamic shapes: C plans a program with numbers that stand in for symbolic sizes, which are read back from its shapes.

A rule looks at sizes only to compare them: equal, or 1. A stand-in is a large number that no other size has, so it
compares as its symbol does. A symbol that the plan cannot move freely is either bound to others of the same size, and
they are guarded to stay equal, or bound to a pattern, and it is specialised, which the tracer guards too.
"""

from ..errors import LacunaError

_BASE = 1_000_003  # stand-ins start here


def fixed_size(size):
    """The number behind a size, or None for a symbol."""
    return size if type(size) is int else size.node.maybe_as_int()


def present_size(size):
    """The number that a size is now; nothing is guarded."""
    fixed = fixed_size(size)
    return size.node.hint if fixed is None else fixed


class _Plan:
    """One call whose shapes hold symbols. `shapes` are those of `like` and of the inputs, `ints` its attributes."""

    def __init__(self, make, shapes, ints):
        self.make, self.shapes, self.ints = make, shapes, ints
        self.symbols = {}  # expression -> a symbolic size
        for shape in shapes:
            for size in shape:
                if fixed_size(size) is None:
                    self.symbols.setdefault(size.node.expr, size)
        taken = {fixed_size(size) for shape in shapes for size in shape}
        numbers = (n for n in range(_BASE, 2 * _BASE) if n not in taken)
        self.stand_in = dict(zip(self.symbols, numbers))

    def number(self, size, moving):
        """`moving` maps the expressions that have a stand-in to it; others are at their present size."""
        if fixed_size(size) is None and size.node.expr in moving:
            return moving[size.node.expr]
        return present_size(size)

    def attempt(self, moving):
        """The program, or None when it cannot be made with these stand-ins."""
        shapes = [tuple([self.number(size, moving) for size in shape]) for shape in self.shapes]
        if any(None in shape for shape in shapes):  # a size that nothing is known about
            return None
        try:
            program = self.make(*shapes)
        except LacunaError:
            return None
        known = set(moving.values()) | {size for shape in shapes for size in shape}
        made = list(program.shapes) + [like for _, like, _, _ in program.steps]
        is_symbolic = all(size < _BASE or size in known for shape in made for size in shape)
        return program if is_symbolic and not self.is_frozen(program) else None

    def is_frozen(self, program):
        """Whether a rule wrote a stand-in, or a number computed from one, into an attribute, where no symbol can go."""
        return any(n > _BASE // 2 and n not in self.ints for spec, *_ in program.steps for n in spec.ints)

    def free(self):
        """Stand-ins for as many symbols as the plan lets move, alone or with others of the same present size."""
        moving = {e: n for e, n in self.stand_in.items() if self.attempt({e: n})}
        bound = [e for e in self.symbols if e not in moving]
        for size in {self.symbols[e].node.hint for e in bound}:
            group = {e: self.stand_in[e] for e in bound if self.symbols[e].node.hint == size}
            group = dict.fromkeys(group, min(group.values()))
            if len(group) > 1 and self.attempt(group):
                first, *others = [self.symbols[e] for e in group]
                if all([bool(first == other) for other in others]):
                    moving.update(group)
        return moving

    def solve(self):
        moving = self.stand_in
        program = self.attempt(moving)
        if program is None:
            moving = self.free()
            program = self.attempt(moving)
        if program is None:
            moving = {}
        for expression, size in self.symbols.items():
            if expression not in moving:
                int(size)  # specialises
        if program is None:
            program = self.make(*[tuple([int(size) for size in shape]) for shape in self.shapes])
        back = {number: self.symbols[expression] for expression, number in moving.items()}
        return program, lambda shape: tuple([back.get(size, size) for size in shape])


def _same(shape):
    return shape


def _are_numbers(like, metas):
    """Whether no size is a symbol. Numbers have a hash, which is found faster than each is looked at."""
    try:
        hash((like, metas))
    except TypeError:
        return False
    return True


def plan(spec, mode, like, metas, wants=0, given=0):
    """(program, function that turns its shapes into symbolic ones)."""
    if spec.keys:
        return spec.plan(mode, like, metas, wants, given)
    if _are_numbers(like, metas):
        return spec.program(mode, like, metas, wants, given), _same
    codes = [code for code, _ in metas]

    def make(like, *shapes):
        return spec.program(mode, like, tuple(zip(codes, shapes)), wants, given)

    return _Plan(make, [tuple(like), *[tuple(shape) for _, shape in metas]], spec.ints).solve()
