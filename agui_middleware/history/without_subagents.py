"""The mirror of `hidden` for posted conversations: a history for agents that ignore tags."""

from agui_middleware.protocol.event import UNSET, as_id
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.messages import calls_of
from agui_middleware.protocol.nameless_owners import tagged
from agui_middleware.protocol.posted import MessageHead, Posted


def history_without_subagents(posted: Posted) -> Posted:
    """Remove the messages that subagents own, with the results of their calls. Return the same object if there are none.

    A message is a subagent's where it has a `subagentRunId`, of whatever type; a result where its call is, whoever executed
    it. To be applied behind the restoration, which brings the tags back that older clients do not hold.
    """
    if not posted.input.may_contain(b'"subagentRunId"'):
        return posted
    owned = [_is_owned(bytes(raw)) for _, raw in posted.messages]
    if not any(owned):
        return posted
    theirs: dict[str, bool] = {}
    for (head, raw), mine in zip(posted.messages, owned, strict=True):
        for call in calls_of(JsonObject.of(bytes(raw))) if head.toolCalls else ():
            theirs.setdefault(as_id(call.get("id")) or "", mine)

    def stays(head: MessageHead, mine: bool) -> bool:
        asked = theirs.get(head.toolCallId or "") if head.role == "tool" else None
        return not (mine if asked is None else asked)

    kept = (message for message, mine in zip(posted.messages, owned, strict=True) if stays(message[0], mine))
    return posted.with_messages(kept)


def _is_owned(raw: bytes) -> bool:
    if raw[:1] != b"{":
        return False
    message = JsonObject.of(raw)
    return message.may_contain(b'"subagentRunId"') and tagged(message.get("subagentRunId", UNSET))
