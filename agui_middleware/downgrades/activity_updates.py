"""Activities that a snapshot changes.

Releases 0.0.46 to 0.0.57 take an activity out of a snapshot only where they have none of its id: an activity is the
client's own to them. What the snapshot says of it follows as an event.
"""

from collections.abc import AsyncIterator, Iterator

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.event import Event, JsonObject


@handles("MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
async def with_activity_updates(events: AsyncIterator[Event], _: Context) -> AsyncIterator[Event]:
    """Send an ACTIVITY_SNAPSHOT for each activity in a snapshot.

    One that comes behind it and says the same is dropped: so a stream that was rewritten before stays as it is.
    """
    sent: dict[str, bytes] = {}
    async for event in events:
        id = event.head.messageId
        if event.head.type == "MESSAGES_SNAPSHOT":
            yield event
            updates = list(_updates(event)) if event.may_contain(b'"activity"') else []
            sent = {update.head.messageId: update.raw for update in updates}
            for update in updates:
                yield update
        elif not isinstance(id, str) or sent.pop(id, None) != event.raw:
            yield event


def _updates(snapshot: Event) -> Iterator[Event]:
    for message in snapshot.get_list("messages") or ():
        if isinstance(message, JsonObject) and message.get("role") == "activity" and isinstance(message.get("id"), str):
            members = {name: value for name, value in message.members().items() if name in ("activityType", "content")}
            update = snapshot.replace(type="ACTIVITY_SNAPSHOT", messageId=message["id"], **members)
            yield update.without("messages", "metadata", "rawEvent")
