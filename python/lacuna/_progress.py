# SPDX-License-Identifier: Apache-2.0
"""What progress=True shows of long solves and factorisations: tqdm's bar where it is installed, else a line on stderr.

C says how far an iteration is, and that a factorisation goes on (the question whether it should); it does not say when
a solve ends: a bar waits with what else waits for C to be back (_core.WAITING), and is closed there.
"""

import math
import sys
import time
from contextlib import contextmanager
from threading import get_ident

from ._core import TICKS, WAITING

DELAY, PAUSE = 0.5, 0.1  # seconds before anything is shown, and from one state to the next


class _Line:
    """A line that is written over; where stderr is no terminal, its last state alone."""

    def __init__(self, work):
        self.work, self.text = work, ""

    def show(self, text, _share):
        before, self.text = len(self.text), text
        if sys.stderr.isatty():
            print(f"\r{self.work}: {text:<{before}}", end="", file=sys.stderr, flush=True)

    def close(self):
        print("" if sys.stderr.isatty() else f"{self.work}: {self.text}", file=sys.stderr, flush=True)


class _Bar:
    """The same by tqdm, which draws a bar where it is known how much is done."""

    def __init__(self, tqdm, work):
        self.work, self.bar = work, tqdm(total=1.0, bar_format="{desc}")

    def show(self, text, share):
        if share is not None:
            self.bar.n, self.bar.bar_format = share, "{desc} |{bar}|{percentage:3.0f}%"
        self.bar.set_description_str(f"{self.work}: {text}")

    def close(self):
        self.bar.close()


def _opened(work):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(work)
    return _Bar(tqdm, work)


class Progress:
    """One piece of work after the other, in one thread, each shown once it has taken a while."""

    def __init__(self, work):
        self.work, self.begin, self.shown, self.line, self.last = work, None, 0, None, ()

    def show(self, told="", share=None):
        """What is told of the work now, after the seconds that it has taken, and which share of it is done."""
        now = time.monotonic()
        if self.begin is None:
            self.begin = now
            WAITING.append((get_ident(), self))
        self.last = f"{now - self.begin:.1f} s{told}", share
        if now - self.begin >= DELAY and now - self.shown >= PAUSE:
            self.line, self.shown = self.line or _opened(self.work), now
            self.line.show(*self.last)

    def close(self):
        if self.line:
            self.line.show(*self.last)
            self.line.close()
        self.begin, self.shown, self.line = None, 0, None


def _share(residual, rtol):
    """How many of the digits that are asked for there are."""
    return min(max(0.0, math.log(residual) / math.log(rtol)), 1.0) if rtol and 0 < residual < math.inf else None


class Bars:
    """What Solver's progress=True stands for: a bar in each thread. rtol, where it is known, is what is asked for."""

    def __init__(self, rtol):
        self.rtol, self.bars = rtol, {}

    def __call__(self, iteration, residual):
        thread = get_ident()
        bar = self.bars.get(thread) or self.bars.setdefault(thread, Progress("lacuna: solve"))
        bar.show(f", {iteration} iterations, residual {residual:.1e}", _share(residual, self.rtol))


@contextmanager
def ticking(work, is_asked):
    """Show in a `with`, if asked, how long a call of C takes that says no more than that it goes on."""
    if not is_asked:
        yield
        return
    bar, thread = Progress(work), get_ident()
    before = TICKS.get(thread)
    bar.show()
    TICKS[thread] = bar.show
    try:
        yield
    finally:
        TICKS.pop(thread)
        if before:
            TICKS[thread] = before
