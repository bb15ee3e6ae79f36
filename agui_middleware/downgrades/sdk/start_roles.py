"""START events without a role.

In AG-UI a text without a role is the assistant's. .NET throws where the role is missing, ragas and the community's Rust
lose the message, and Dart requires the role of reasoning too.
"""

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import Step, per_event
from agui_middleware.protocol.event import Event


@per_event("TEXT_MESSAGE_START", "REASONING_MESSAGE_START")
def with_start_roles(_: Context) -> Step:
    """Write the role that the protocol gives them."""

    def show(event: Event) -> Event:
        if "role" in event:
            return event
        return event.replace(role="assistant" if event.head.type == "TEXT_MESSAGE_START" else "reasoning")

    return show
