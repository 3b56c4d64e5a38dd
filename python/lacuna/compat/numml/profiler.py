# SPDX-License-Identifier: Apache-2.0
"""numml.profiler: how long blocks of code take. torch.profiler says more: it sees Lacuna's operators."""

from __future__ import annotations

import contextvars
import time


class Profiler:
    """`with Profiler("assembly"):` prints the seconds of the block, and of blocks within it below, when the outermost
    ends. Threads and tasks have blocks of their own; Profiler.enabled = False lets all of them be."""

    enabled = True
    tab_width = 2
    current = contextvars.ContextVar("Profiler", default=())

    def __init__(self, section_name: str) -> None:
        self.section_name, self.running_time = section_name, 0.0
        self.children: list[Profiler] = []

    def __enter__(self) -> Profiler:
        self._around = self.current.get()
        self.current.set((*self._around, self))
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.running_time = time.perf_counter() - self._begun
        self.current.set(self._around)
        if self._around:
            self._around[-1].children.append(self)
        elif self.enabled:
            self.print_recursive()

    def print_recursive(self, level: int = 0) -> None:
        """A line for the block, and those within it below."""
        print(f"{' ' * (level * self.tab_width)}[{self.section_name}] {self.running_time:.5f}s")
        for child in self.children:
            child.print_recursive(level + 1)
