"""Adds up the tokens of a run and of its nested runs."""

from typing import Any

from agui_middleware.agent_events.models import MAX_COUNT, Usage

SUMMED = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cachedInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_write_input_tokens",
}


class UsageTotals:
    """AG-UI's `usage`: one entry for each provider and model, in the order in which they first occurred.

    A count that no turn reported is left out. `totalTokens` is also left out where a turn reported neither a total nor both
    of its parts: readers take it for the sum of input and output.
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[str | None, str | None], dict[str, int]] = {}
        self._without_total: set[tuple[str | None, str | None]] = set()

    def add(self, usage: Usage) -> None:
        key = usage.provider, usage.model
        entry = self._entries.setdefault(key, {})
        for member, field in SUMMED.items():
            _count(entry, member, getattr(usage, field))
        total = _total(usage)
        if total is None:
            self._without_total.add(key)
        _count(entry, "totalTokens", total)

    def entries(self) -> list[dict[str, Any]]:
        return [self._entry(key, counts) for key, counts in self._entries.items()]

    def _entry(self, key: tuple[str | None, str | None], counts: dict[str, int]) -> dict[str, Any]:
        labels = {label: value for label, value in zip(("provider", "model"), key, strict=True) if value is not None}
        if key in self._without_total:
            counts = {member: count for member, count in counts.items() if member != "totalTokens"}
        return labels | counts


def _count(entry: dict[str, int], member: str, count: int | None) -> None:
    if count is not None:
        # Clients from 0.0.58 on reject the whole run for a count beyond this bound.
        entry[member] = min(entry.get(member, 0) + count, MAX_COUNT)


def _total(usage: Usage) -> int | None:
    if usage.total_tokens is not None or usage.input_tokens is None or usage.output_tokens is None:
        return usage.total_tokens
    return usage.input_tokens + usage.output_tokens
