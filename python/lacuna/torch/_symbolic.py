# SPDX-License-Identifier: Apache-2.0
"""Dynamic shapes: C plans a program with numbers that stand in for symbolic sizes, which are read back from its shapes.

Rules and functions look at sizes to compare them, equal or 1, and to make others of them: products (n k) and sums
(m + n). Stand-ins are primes, of which no two sizes have the same, and each program is planned twice, with primes far
from the first: a size of the program is the form of symbols that gives the right number both times, and what is not the
same both times though it has no symbol, an attribute or a step, was computed from sizes. A symbol that the plan cannot
move freely is either bound to others of the same size, and they are guarded to stay equal, or bound to a pattern, and
it is specialised, which the tracer guards too.
"""

from itertools import combinations
from math import prod

from ..errors import LacunaError
from ._private import expression_of, fixed_size, present_size, symbols_of

_FIRST, _SECOND = 4_000, 24_000  # stand-ins start here; four of them multiplied are a size that C can address
_MOST_TRIALS = 256  # of products


def _primes(start, taken):
    """Primes from a number on that no size is."""
    while True:
        if start not in taken and all(start % d for d in range(2, int(start**0.5) + 1)):
            yield start
        start += 1


def _parts(group):
    """All parts of a list, small ones first."""
    return [part for count in range(1, len(group) + 1) for part in combinations(group, count)]


def _product(pair, symbols):
    """([symbol, ...], factor) whose product is the pair of numbers; None where there is none. `symbols` has a pair of
    stand-ins for each."""
    numbers, found = list(pair), []
    for symbol, primes in symbols.items():
        while numbers[0] and all([n % p == 0 for n, p in zip(numbers, primes)]):
            numbers = [n // p for n, p in zip(numbers, primes)]
            found.append(symbol)
    return (found, numbers[0]) if numbers[0] == numbers[1] else None


def _form(pair, symbols):
    """[([symbol, ...], factor), ...] whose sum of products is the pair of numbers; None where none is found."""
    if pair[0] == pair[1]:
        return [([], pair[0])]
    for symbol, numbers in symbols.items():
        if tuple(numbers) == tuple(pair):
            return [([symbol], 1)]
    product = _product(pair, symbols)
    if product is not None:
        return [product]
    for symbol, primes in symbols.items():  # symbol + rest, where the rest is a product or a number
        rest = _product([n - p for n, p in zip(pair, primes)], symbols)
        if rest is not None:
            return [([symbol], 1), rest]
    return None


class Plan:
    """One call whose shapes hold symbols: `shapes` are those of `like` and of the inputs, which `make` takes."""

    def __init__(self, make, shapes):
        self.make, self.shapes = make, shapes
        sizes = [size for shape in shapes for size in shape]
        self.symbols = {}  # symbol -> a symbolic size
        for size in sizes:
            if fixed_size(size) is None:
                self.symbols.update({s: one for s, one in symbols_of(size).items() if s not in self.symbols})
        self.sizes = {expression_of(size): size for size in sizes if fixed_size(size) is None} | self.symbols
        taken = {fixed_size(size) for size in sizes}
        self.stand_ins = dict(zip(self.symbols, zip(_primes(_FIRST, taken), _primes(_SECOND, taken))))

    def number(self, size, moving, which):
        """`moving` maps the symbols that have stand-ins to them; others are at their present size."""
        fixed = fixed_size(size)
        if fixed is not None:
            return fixed
        expression = expression_of(size)
        if expression in moving:
            return moving[expression][which]
        from sympy import Integer  # slow to import, and there where symbols are

        numbers = {
            s: moving[s][which] if s in moving else present_size(self.symbols[s]) for s in expression.free_symbols
        }
        if None in numbers.values():
            return None
        return int(expression.xreplace({s: Integer(n) for s, n in numbers.items()}))

    def attempt(self, moving):
        """(program, {size of it: form}), or None when it cannot be made with these stand-ins."""
        sizes = [[tuple([self.number(size, moving, which) for size in shape]) for shape in self.shapes]
                 for which in range(2)]  # fmt: skip
        if any(None in shape for shape in sizes[0]):  # a size that nothing is known about
            return None
        try:
            first, second = self.make(*sizes[0]), self.make(*sizes[1])
        except LacunaError:
            return None
        if [step[0].attributes + step[2:] for step in first.steps] != [s[0].attributes + s[2:] for s in second.steps]:
            return None
        made = [[shape for shapes in (program.shapes, [step[1] for step in program.steps]) for shape in shapes]
                for program in (first, second)]  # fmt: skip
        if [len(shape) for shape in made[0]] != [len(shape) for shape in made[1]]:
            return None
        pairs = {pair for shapes in zip(*made) for pair in zip(*shapes)}
        known = {e: tuple([self.number(size, moving, which) for which in range(2)]) for e, size in self.sizes.items()}
        known = {e: pair for e, pair in known.items() if pair[0] != pair[1]}
        forms = {pair[0]: _form(pair, known) for pair in pairs}
        return (first, forms) if len(forms) == len(pairs) and None not in forms.values() else None

    def free(self):
        """Stand-ins for as many symbols as the plan lets move, alone or with others of the same present size. What one
        may do can hang on another: a matrix of more rows has room for more entries."""
        moving, before = {}, None
        while before != len(moving):
            before = len(moving)
            if not (self.free_single(moving) or self.free_group(moving)):
                self.free_product(moving)
        return moving

    def free_single(self, moving):
        """One more symbol alone."""
        for e, pair in self.stand_ins.items():
            if e not in moving and self.attempt({**moving, e: pair}):
                moving[e] = pair
                return True
        return False

    def groups(self, moving):
        """{present size: the symbols of that size} of those that do not move yet."""
        groups = {}
        for e, size in self.symbols.items():
            if e not in moving and present_size(size) is not None:
                groups.setdefault(present_size(size), []).append(e)
        return groups

    def move(self, moving, *groups, product=()):
        """Let groups move, each as one, and `product` as their product, where that can be; they are guarded to stay
        so."""
        pairs = [self.stand_ins[group[0]] for group in groups]
        trial = {e: pair for group, pair in zip(groups, pairs) for e in group}
        trial.update(dict.fromkeys(product, tuple([prod(numbers) for numbers in zip(*pairs)])))
        if not self.attempt({**moving, **trial}):
            return False
        firsts = [self.symbols[group[0]] for group in groups]
        same = [bool(first == self.symbols[e]) for first, group in zip(firsts, groups) for e in group[1:]]
        same += [bool(self.symbols[e] == prod(firsts)) for e in product]
        moving.update(trial if all(same) else {})
        return all(same)

    def free_group(self, moving):
        """Symbols of one present size together, as few as will do: others may be the same by chance."""
        some = [part for group in self.groups(moving).values() for part in _parts(group) if len(part) > 1]
        return any(self.move(moving, part) for part in sorted(some, key=len))

    def free_product(self, moving):
        """The symbols of a size as the product of others, as the rows of a Kronecker product are."""
        parts = {size: _parts(group) for size, group in self.groups(moving).items()}
        trials = [(first, second, product) for a in parts for b in parts if 1 < a <= b and a * b in parts
                  for first in parts[a] for second in parts[b] if not set(first) & set(second)
                  for product in parts[a * b]]  # fmt: skip
        trials.sort(key=lambda trial: sum(map(len, trial)))
        return any(self.move(moving, *trial[:2], product=trial[2]) for trial in trials[:_MOST_TRIALS])

    def size(self, form):
        """A form as a symbolic size."""
        total = 0
        for symbols, factor in form:
            product = factor
            for symbol in symbols:
                product = product * self.sizes[symbol]
            total = total + product
        return total

    def solve(self, is_needed=True):
        """(program, function that turns its shapes into symbolic ones); None where no symbol moves and none is
        needed."""
        moving = self.stand_ins
        made = self.attempt(moving)
        if made is None:
            moving = self.free()
            made = self.attempt(moving) if moving else None
        if made is None:
            moving = {}
            if not is_needed:
                return None
        for expression, size in self.symbols.items():
            if expression not in moving:
                int(size)  # specialises
        if made is None:
            return self.make(*[tuple([int(size) for size in shape]) for shape in self.shapes]), _same
        program, forms = made
        back = {number: self.size(form) for number, form in forms.items()}
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

    return Plan(make, [tuple(like), *[tuple(shape) for _, shape in metas]]).solve()
