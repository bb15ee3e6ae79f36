"""The ids of results that an SDK posts under ids of its own.

TanStack calls the result of the call `c` `tool-c`, .NET `c`, and AGUIChatClient something new each time. For an agent that
keeps its conversation by id, that would be a second result.
"""

from agui_middleware.config.readers import Reader
from agui_middleware.history.record import Kept, key_of
from agui_middleware.protocol.json_object import JsonObject
from agui_middleware.protocol.posted import Posted, as_message
from agui_middleware.protocol.releases import ClientVersion


def with_known_ids(posted: Posted, kept: Kept, client: ClientVersion | Reader | None) -> Posted:
    """Give an SDK's results the ids that the agent gave them. Return the same object if nothing changes.

    A result is known by its call: an id of its own has the one that answers a call to which the agent's is not posted.
    """
    if not isinstance(client, Reader):
        return posted
    there = {key_of(head) for head, _ in posted.messages}
    answers = {item.result_of: key.partition("\0")[0] for key, item in kept.items.items() if item.result_of}
    taken = {item.result_of for key, item in kept.items.items() if key in there}
    after = list(posted.messages)
    for place, (head, raw) in enumerate(after):
        call = head.toolCallId
        if head.role == "tool" and call in answers and call not in taken:
            taken.add(call)
            after[place] = as_message(JsonObject.of(bytes(raw)).replace(id=answers[call]))
    return (
        posted.with_messages(after)
        if any(new is not old for new, old in zip(after, posted.messages, strict=True))
        else posted
    )
