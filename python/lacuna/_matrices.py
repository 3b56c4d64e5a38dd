# SPDX-License-Identifier: Apache-2.0
"""Functions that take a matrix as one argument: SciPy's in the NumPy front end, sparse tensors in that of torch.

One rule: a matrix in the place of a pattern or solver stands for its pattern, and for the values that belong to it,
which are then left out: spmm(A, x) is spmm(pattern, values, x). Of a batch of matrices, right-hand sides with one
dimension more than the batch are a vector for each.
"""

import functools

from ._handle import Handle
from ._operators.front import squeezed
from ._parameters import ARRAYS
from .errors import ArgumentError


class _Place:
    """A parameter of a function: whether a matrix may stand there, and which parameter has the values of it."""

    def __init__(self, parameter):
        self.name, self.values = parameter.name, None
        self.is_array, self.has_columns = parameter.kind in ARRAYS, parameter.kind == "columns"
        self.is_object = parameter.kind in ("pattern", "solver", "factor") and not parameter.is_list


def _places(parameters):
    """The parameters of a function; the values of an object are the first ones after it."""
    places, last = [], None
    for parameter in parameters:
        places.append(_Place(parameter))
        if places[-1].is_object:
            last = places[-1]
        elif parameter.kind == "values" and last is not None and not parameter.is_list:
            last.values, last = parameter.name, None
    return places


class Front:
    """The matrices of a front end, whose arrays are of the type `array`."""

    array = None

    def is_matrix(self, given):
        raise NotImplementedError

    def parts(self, matrix):
        """(pattern, values, rank of the batch)."""
        raise NotImplementedError


def _spread(front, who, places, given, named):
    """(all arguments by name, matrices as patterns and values; the rank of their batch)."""
    spread, left, named, rank = {}, list(given), dict(named), 0
    for place in places:
        if place.name in spread or not left and place.name not in named:
            continue
        value = left.pop(0) if left else named.pop(place.name)
        if isinstance(value, front.array) and not place.is_array and not front.is_matrix(value):
            left.append(value)
            break
        spread[place.name] = value
        if place.is_object and front.is_matrix(value):
            spread[place.name], values, batch = front.parts(value)
            spread.update({place.values: values} if place.values else {})
            rank = max(rank, batch)
    if left or spread.keys() & named.keys():
        raise ArgumentError(f"{who}: too many arguments; a matrix stands for pattern and values: leave them out")
    return {**spread, **named}, rank


def _called(front, function, places, given, named):
    """The function with arguments of which some are matrices."""
    spread, rank = _spread(front, function.__name__, places, given, named)
    sides = [place.name for place in places if place.has_columns and spread.get(place.name) is not None]
    if not rank or not sides or any([getattr(spread[side], "ndim", 0) != rank + 1 for side in sides]):
        return function(**spread)
    return squeezed(function(**{**spread, **{side: spread[side][..., None] for side in sides}}))


def _taking_one(front, function, places):
    """A function whose only object comes first, as of most: one look at its type."""

    @functools.wraps(function)
    def taking(*given, **named):
        if given and isinstance(given[0], Handle):
            return function(*given, **named) if named else function(*given)
        if not any([front.is_matrix(one) for one in (*given[:1], *named.values())]):
            if given:
                way = "lacuna.torch has this function for it" if hasattr(given[0], "slots") else (
                    "values follow a pattern, and a sparse matrix stands for both")  # fmt: skip
                kind = type(given[0]).__name__
                raise ArgumentError(f"{function.__name__}: expected a lacuna.Pattern, got {kind}; {way}")
            return function(*given, **named)
        return _called(front, function, places, given, named)

    return taking


def _taking_several(front, function, places):
    """Others: objects where they are expected are a plain call too."""
    at = [i for i, place in enumerate(places) if place.is_object]

    @functools.wraps(function)
    def taking(*given, **named):
        if not named and all([isinstance(given[i], Handle) for i in at if i < len(given)]):
            return function(*given)
        if not any([front.is_matrix(one) for one in (*given, *named.values())]):
            return function(*given, **named)
        return _called(front, function, places, given, named)

    return taking


def _taking(front, function, places):
    """The function, as one that takes matrices where it takes objects."""
    at = [i for i, place in enumerate(places) if place.is_object]
    if not at:
        return function
    return (_taking_one if at == [0] else _taking_several)(front, function, places)


def taking_matrices(front, functions, takes):
    """The functions, by name, as ones that take matrices where they take objects."""
    return {name: _taking(front, function, _places(takes.get(name, ()))) for name, function in functions.items()}
