# SPDX-License-Identifier: Apache-2.0
"""The texts by which C names the parameters of its operators and functions (extend.h), read, and as Python source.

Source, and no loop over kinds in each call: a call costs what that of a function written by hand does, and compilers
read it as such.
"""

import re
from collections import namedtuple

OBJECTS = {
    "pattern": "Pattern", "map": "Map", "format": "Format", "solver": "Pattern, Solver",
    "factor": "Pattern, Solver, Factor",
}  # fmt: skip
ARRAYS = {"array", "values", "columns", "column", "number", "condition"}
_PARAMETER = re.compile(r"(\w+): ([^=@\[\]]*[^=@\[\] ])(\[\])?(?: @(\d+))?(?: = (.*))?")
_NUMBER = re.compile(r"-?\d+|-?inf")
_CONSTANTS = {"true": "True", "false": "False", "all": "None", "none": "None"}


class Parameter(namedtuple("Parameter", "name kind is_list place default")):
    """One parameter, by texts; `place` and `default` are None where nothing is said."""

    @property
    def is_counted(self):
        """An array, or how many C makes of it."""
        return self.kind in ARRAYS and bool(self.default) and self.default.isdigit()

    @property
    def is_optional(self):
        return self.default == "none" or self.is_counted

    @property
    def given(self):
        """What came, or the default where that is None, which all that have a default take."""
        if self.default is None or self.default in _CONSTANTS:
            return self.name
        numbers = [f"float({n!r})" if "inf" in n else n for n in self.default.split()]
        default = f"({', '.join(numbers)})" if len(numbers) > 1 else numbers[0]
        return f"({default} if {self.name} is None else {self.name})"

    @property
    def shown(self):
        """As it stands in the function's signature."""
        if self.default is None:
            return self.name
        if self.default in _CONSTANTS:
            return f"{self.name}={_CONSTANTS[self.default]}"
        hides = self.default.startswith("-1") and self.kind in ("integer", "bands") or "inf" in self.default
        if hides or self.kind in ARRAYS and not self.is_counted:
            return f"{self.name}=None"
        return f"{self.name}={self.default if _NUMBER.fullmatch(self.default) else repr(self.default)}"


def read(text):
    """The parameters of a text; "x: array, op: form = N"."""
    return [Parameter(*_PARAMETER.fullmatch(part).groups()) for part in text.split(", ")] if text else []


def words(kind):
    """{word: its code}; a word that is a number has its value too."""
    table = {word: code for code, word in enumerate(kind.split("|"))}
    return table | {float(word): code for word, code in table.items() if _NUMBER.fullmatch(word)}


def _integers(p, who, first):
    """The expressions of a parameter that is one integer or two; none for other kinds.

    index() fixes, and guards, what a tracer holds open: words too, whose codes it takes for numbers like others.
    """
    if p.kind == "form":
        return [f"index(form({p.name}))"]
    if p.kind == "bands":
        return [f"index({p.given}[{i}])" for i in range(2)]
    if p.kind in ("axis", "axes"):
        return [f"index({'from_end' if p.kind == 'axis' else 'mask'}({who!r}, {first}, {p.name}))"]
    if p.kind == "integer":
        return [f"index({p.given})"]
    if p.is_counted:
        return [f"(0 if hasattr({p.name}, 'shape') else index({p.name}))"]
    if p.kind == "flag":
        return [f"int(bool({p.name}))"]
    return [f"index(word({p.name!r}, {p.name}, {who}_{p.name}s))"] if "|" in p.kind else []


def _at_their_places(parameters, expressions):
    """The expressions of each parameter, from its place on, as the inside of a tuple."""
    slots, at = {}, 0
    for p, found in zip(parameters, expressions):
        at = int(p.place) if p.place and found else at
        for expression in found:
            slots[at], at = expression, at + 1
    return "".join(f"{slots.get(i, '0')}, " for i in range(max(slots, default=-1) + 1))


def _array(p, who, is_measured):
    """The statements that make an array of what came, where its shape or dtype is looked at here."""
    if p.is_list:
        return [f"{p.name} = [asarray(x, {who!r}, {p.name!r}) for x in {p.name}]"]
    if p.is_optional:
        is_there = f"hasattr({p.name}, 'shape')" if p.is_counted else f"{p.name} is not None"
        return [f"{p.name}_ = [asarray({p.name}, {who!r}, {p.name!r})] if {is_there} else []"]
    made = [f"{p.name} = asarray({p.given}, {who!r}, {p.name!r})"] * (is_measured or p.kind in ("columns", "column"))
    return made + [f"{p.name} = {p.name}[:, None] if {p.name}.ndim == 1 else {p.name}"] * (p.kind == "column")


def _statements(who, arrays, has_axes):
    """What is done to the arrays before the call."""
    lines = [line for p in arrays for line in _array(p, who, has_axes and p is arrays[0])]
    numbers, columns = ([p.name for p in arrays if p.kind == kind] for kind in ("number", "columns"))
    if numbers:
        lines.append(f"{', '.join(numbers)} = beside({who!r}, {', '.join(numbers)})")
    if arrays and arrays[0].kind == "condition":
        condition, x = arrays[0].name, arrays[1].name
        lines += [f"{x} = asarray({x}, {who!r}, {x!r})", f"{condition} = convert({condition}, {x})"]
    if columns:
        lines += ["is_vector = " + " and ".join(f"{x}.ndim == 1" for x in columns), "if is_vector:"]
        lines += [f"    {x} = {x}[:, None]" for x in columns]
    return lines


def _key(p, who):
    """The expression of an object's key."""
    if p.is_list:
        return f"*[expect({who!r}, p, {OBJECTS[p.kind]}) for p in {p.name}], "
    key = f"expect({who!r}, {p.name}, {OBJECTS[p.kind]}), "
    return f"*(() if {p.name} is None else ({key})), " if p.is_optional else key


def _passed(p):
    """An array as an argument of the call."""
    return f", *{p.name}" if p.is_list else f", *{p.name}_" if p.is_optional else f", {p.name}"


def source(name, request, text, fixed, renamed=()):
    """The Python text of a function `name` that makes a request of C; `fixed` are parameters that it gives itself, and
    `renamed`, pairs, those that have another name in this front end."""
    parameters = [p._replace(name=dict(renamed).get(p.name, p.name)) for p in read(text)]
    arrays = [p for p in parameters if p.kind in ARRAYS]
    keys = "".join(_key(p, name) for p in parameters if p.kind in OBJECTS)
    ints = [_integers(p, name, arrays[0].name if arrays else "") for p in parameters]
    reals = [[f"float({p.given}).hex()"] if p.kind == "real" else [] for p in parameters]
    dtype = "".join(f"code({p.name})" for p in parameters if p.kind == "dtype") or "0"
    like = "".join({"shape": f"*{p.name}, ", "size": f"{p.name}, "}.get(p.kind, "") for p in parameters)
    given = "".join(_passed(p) for p in arrays)
    attributes = [_at_their_places(parameters, numbers) for numbers in (ints, reals)]
    lines = [f"{p} = {value!r}" for p, value in fixed.items()]
    lines += _statements(name, arrays, any(p.kind in ("axis", "axes") for p in parameters))
    keys = f"({keys})" if keys else "NO_OBJECTS"
    resolved = f"resolve({request!r}, {keys}, ({attributes[0]}), ({attributes[1]}), {dtype})"
    lines.append(f"y = apply({resolved}, ({like}){given})")
    lines.append("return squeezed(y) if is_vector else y" if any(p.kind == "columns" for p in arrays) else "return y")
    shown = ", ".join(p.shown for p in parameters if p.name not in fixed)
    tables = "".join(f"    {name}_{p.name}s = words({p.kind!r})\n" for p in parameters if "|" in p.kind)
    return f"{tables}    def {name}({shown}):\n" + "".join(f"        {line}\n" for line in lines)
