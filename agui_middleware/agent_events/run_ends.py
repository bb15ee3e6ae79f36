"""The end of a run in AG-UI."""

from typing import Any

from agui_middleware.agent_events.models import RunOutcome

FAILED = {"code": "AGENT_FAILED", "message": "The agent failed."}
"""For a loop that raises. The exception goes to the log and not to the client: it may name secrets."""

UNFINISHED = {"code": "AGENT_UNFINISHED", "message": "The run ended before this subagent did."}

FAILURES = {
    "refused": {"code": "AGENT_REFUSED", "message": "The agent declined to go on."},
    "limit": {"code": "AGENT_LIMIT", "message": "The agent reached a limit."},
    "cancelled": {"code": "AGENT_CANCELLED", "message": "The agent was stopped."},
    "error": {"code": "AGENT_ERROR", "message": "The agent reported an error."},
}


def failure(outcome: RunOutcome) -> dict[str, str]:
    """`code` and `message` of an outcome other than `finished`."""
    failed = FAILURES[outcome.status]
    return failed | {"message": outcome.error} if outcome.error else failed


def success(outcome: RunOutcome) -> dict[str, Any]:
    """`outcome`, and the final text as `result`, which is left out where there is none: null would be malformed."""
    result = {} if outcome.text is None else {"result": outcome.text}
    return result | {"outcome": {"type": "success"}}
