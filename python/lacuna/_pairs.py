# SPDX-License-Identifier: Apache-2.0
"""Pairs within groups: the maps by which the numbers of each group are joined two by two until one is left."""

import numpy as np


def pairs_of(target):
    """[(target of each first, target of each second, how many pairs)] of the levels, and the group of what is left.

    `target` is the group of each number, -1 where it is dropped. A number whose place in its group is even is the first
    of a pair, the next one the second; -1 where it is neither.
    """
    groups, levels = np.asarray(target), []
    while True:
        order = np.argsort(groups, kind="stable")
        order = order[groups[order] >= 0]
        mine = groups[order]
        begins = np.flatnonzero(np.r_[True, mine[1:] != mine[:-1]]) if mine.size else np.zeros(0, np.int64)
        sizes = np.diff(np.r_[begins, mine.size])
        if not mine.size or sizes.max() == 1:
            return levels, groups
        place = np.arange(mine.size) - np.repeat(begins, sizes)
        pair = np.cumsum(place % 2 == 0) - 1
        firsts, seconds = np.full(groups.size, -1), np.full(groups.size, -1)
        firsts[order[place % 2 == 0]], seconds[order[place % 2 == 1]] = pair[place % 2 == 0], pair[place % 2 == 1]
        groups = mine[place % 2 == 0]
        levels.append((firsts, seconds, groups.size))
