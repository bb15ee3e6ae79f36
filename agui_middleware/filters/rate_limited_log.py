"""Log records that a client can cause, so many that they would be all that a log holds."""

import logging
from collections.abc import Hashable, Mapping
from typing import Any, Final

_KEYS: Final = 1000


class RateLimitedLog:
    """Logs the first record of each key, then the 10th, the 100th and so on, with how many there were.

    A record has its number as the field `count`. Up to 1,000 keys are counted apart and all others together, so that memory
    is bounded whatever a key is made of.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._counts: dict[Hashable, int] = {}

    def forget(self) -> None:
        """Count from the start again."""
        self._counts.clear()

    def log(
        self,
        key: Hashable,
        level: int,
        message: str,
        *values: object,
        fields: Mapping[str, object] | None = None,
        exception: BaseException | None = None,
    ) -> None:
        """Count a record of a key, and log it if it is its turn. `fields` become attributes of the record."""
        if key not in self._counts and len(self._counts) >= _KEYS:
            key = None
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count > 1 and str(count).strip("0") != "1":
            return
        extra: dict[str, Any] = {**(fields or {}), "count": count}
        if count > 1:
            message, values = f"{message} (%d times so far)", (*values, count)
        self._logger.log(level, message, *values, extra=extra, exc_info=exception)

    def warning(self, key: Hashable, message: str, *values: object, fields: Mapping[str, object] | None = None) -> None:
        """`log` at the level WARNING."""
        self.log(key, logging.WARNING, message, *values, fields=fields)
