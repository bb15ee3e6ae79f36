import logging
from typing import Any

import pytest

from agui_middleware.filters.rate_limited_log import RateLimitedLog


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> RateLimitedLog:
    caplog.set_level(logging.INFO)
    return RateLimitedLog(logging.getLogger("agui_middleware.test"))


def test_a_record_is_logged_the_first_time_and_at_every_tenth_power_with_its_count(
    log: RateLimitedLog, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1, 1001):
        log.warning("key", "the %s of %d", "message", number, fields={"number": number})
    expected = [(1, ""), (10, " (10 times so far)"), (100, " (100 times so far)"), (1000, " (1000 times so far)")]
    assert caplog.messages == [f"the message of {count}{suffix}" for count, suffix in expected]
    assert [(vars(record)["count"], vars(record)["number"]) for record in caplog.records] == [
        (count, count) for count, _ in expected
    ]


def test_keys_are_counted_apart(log: RateLimitedLog, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        log.warning("a", "a")
        log.log(("b", None), logging.INFO, "b")
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(30, "a"), (20, "b")]


def test_an_exception_is_logged_with_its_traceback(log: RateLimitedLog, caplog: pytest.LogCaptureFixture) -> None:
    error = ValueError("x")
    log.log("a", logging.ERROR, "a", exception=error)
    [record] = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_keys_that_a_client_makes_up_are_counted_together_from_some_number_on(
    log: RateLimitedLog, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(5000):
        log.warning(number, "%d", number)
    assert len(log._counts) == 1001
    assert len(caplog.records) == 1000 + 4  # 1, 10, 100 and 1000 of the rest
    caplog.clear()
    log.warning(0, "%d", 0)
    assert caplog.messages == []


@pytest.mark.parametrize("values", [(), ("%s",), (1, 2)])
def test_a_message_takes_its_values_as_any_other(log: RateLimitedLog, values: Any, caplog: Any) -> None:
    log.warning("a", "x" + " %s" * len(values), *values)
    assert caplog.messages == [" ".join(["x", *map(str, values)])]


def test_what_was_counted_can_be_forgotten(log: RateLimitedLog, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        log.warning("a", "a")
        log.forget()
    assert caplog.messages == ["a", "a"]
