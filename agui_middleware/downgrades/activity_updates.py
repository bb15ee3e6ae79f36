"""Activities that a snapshot changes.

Releases 0.0.46 to 0.0.57 read an activity in a snapshot only if they do not have one of that id yet. The content in the
snapshot is therefore sent again as an ACTIVITY_SNAPSHOT behind it.
"""

from collections.abc import AsyncIterator, Iterator

from msgspec import Raw

from agui_middleware.filters.contract import Context
from agui_middleware.filters.declared import handles
from agui_middleware.protocol.budget import Index
from agui_middleware.protocol.event import Event, JsonObject


@handles("MESSAGES_SNAPSHOT", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
async def with_activity_updates(events: AsyncIterator[Event], context: Context) -> AsyncIterator[Event]:
    """Send an ACTIVITY_SNAPSHOT for each activity in a snapshot.

    An ACTIVITY_SNAPSHOT with the same content behind the snapshot is dropped, so that rewriting is idempotent.
    """
    sent: Index[str, int] = Index(context.budget)  # what an activity's update says, as a hash
    async for event in events:
        id = event.head.messageId
        if event.head.type == "MESSAGES_SNAPSHOT":
            yield event
            updates = list(_updates(event)) if event.may_contain(b'"activity"') else []
            sent.clear()
            sent.update((update.head.messageId, hash(update.raw)) for update in updates)
            for update in updates:
                yield update
        elif not isinstance(id, str) or sent.pop(id) != hash(event.raw):
            yield event


def _updates(snapshot: Event) -> Iterator[Event]:
    # Only what every client reads: whatever else the snapshot says would leave once for each of its activities.
    time = bytes(snapshot.members().get("timestamp", b""))
    said = {"timestamp": Raw(time)} if len(time) < 40 and time[:1].isdigit() else {}
    for message in snapshot.get_list("messages") or ():
        if isinstance(message, JsonObject) and message.get("role") == "activity" and isinstance(message.get("id"), str):
            members = {name: value for name, value in message.members().items() if name in ("activityType", "content")}
            update = Event(type="ACTIVITY_SNAPSHOT", **said, messageId=message["id"], **members)
            update.fields = snapshot.fields
            yield update
