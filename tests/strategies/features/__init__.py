"""What a stream exhibits: its event types, its shapes, and the finer situations that a rewriter has to get right.

`features` tells a statistic whether the strategies really draw what they promise, and a test whether a shape that it left
out stayed out.
"""

from .situations import SITUATIONS
from .survey import features

__all__ = ["SITUATIONS", "features"]
