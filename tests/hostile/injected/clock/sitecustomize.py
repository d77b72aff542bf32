"""Sets the clock an hour back and forth again with every look at it."""

import itertools
import time

_true = time.time
_ways = itertools.cycle([3600.0, -3600.0])

time.time = lambda: _true() + next(_ways)
