"""State that a client predicts from a tool call's arguments, when a CUSTOM event named `PredictState` tells it to.

Releases up to 0.0.30 did so. No later one does: the state that they predict is not the agent's.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event


@per_event("CUSTOM")
def without_predicted_state(_: Context) -> Step:
    """Drop the event. These releases show no CUSTOM event to anybody, so nothing else is lost."""
    return lambda event: None if event.get("name") == "PredictState" else event
