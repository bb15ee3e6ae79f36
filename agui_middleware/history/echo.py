"""The input echo of a response, as the client has posted it: what was put back for the agent goes to the agent alone."""

from agui_middleware.history.record import key_of
from agui_middleware.protocol.event import Event
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.messages import edit_messages
from agui_middleware.protocol.posted import Posted, head_of


class Echo:
    """Edits the echo in RUN_STARTED of a request whose conversation was restored: `posted` before it, `given` behind it.

    Otherwise a filter of the route's own that looks at streamed messages only would let out by `input.messages` what it
    has taken out of an earlier response. A message that the client has not posted goes; one to which something was put
    back is the posted one; what the agent itself has added stays.
    """

    def __init__(self, posted: Posted, given: Posted) -> None:
        known = {key_of(head): raw for head, raw in posted.messages}
        same = {id(raw) for raw in known.values()}
        self._changed = {key_of(head): known.get(key_of(head)) for head, raw in given.messages if id(raw) not in same}

    def as_posted(self, event: Event) -> Event:
        """Return the event with its messages as they were posted; the same object if none was changed."""
        return edit_messages(event, self._posted)

    def _posted(self, message: JsonObject) -> JsonObject | None:
        key = key_of(head_of(message.raw))
        if key not in self._changed:
            return message
        raw = self._changed[key]
        return None if raw is None else JsonObject.of(bytes(raw))
