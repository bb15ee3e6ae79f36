"""A thread without Node: a client that reads as it is declared to, and what the agent gets of what it posts."""

import json
from typing import Any

from agui_middleware import ClientVersion, Event, Restoration
from agui_middleware.config.named_clients import parse_client
from agui_middleware.config.readers import Reader
from agui_middleware.history.merge import Restored, restore
from agui_middleware.history.readings import reading_of
from agui_middleware.history.record import Kept
from agui_middleware.protocol.conversation import Conversation
from tests.history.remembered import Memory, read
from tests.history.routes import LIMIT, Route
from tests.notation import stream as events
from tests.strategies import Json, plain


class Thread:
    """One conversation. `held` are the messages of the client, to be edited between the runs."""

    def __init__(self, release: str, route: Route | None = None, held: list[Json] | None = None) -> None:
        self.client: ClientVersion | Reader = parse_client(release)
        self.route: Route = route or Route("auto")
        self.memory: Memory = Memory(self.client, self.route)
        self.held: list[Json] = held or [user("u1")]

    @property
    def kept(self) -> Kept:
        """The record."""
        assert self.memory.kept is not None
        return self.memory.kept

    def run(self, stream: str | list[Json]) -> None:
        """Post what is held, and read the answer."""
        body = posted(self.held)
        sent = events(stream) if isinstance(stream, str) else stream
        rewritten = self.memory.rewrite(plain([dict(event) for event in sent]))
        self.memory.remember(body)
        conversation = Conversation(read(body, self.client).messages, reading_of(self.client))
        for line in rewritten.split(b"\n\n"):
            if line.startswith(b"data: "):
                conversation.take(Event.parse(line[6:]))
        held = [json.loads(bytes(raw)) for _, raw in conversation.messages()]
        before = [message.get("content") for message in self.held]
        self.held = [self._as_held(message, before) for message in held if message["role"] != "activity"]

    def _as_held(self, message: Json, posted: list[Any]) -> Json:
        """The message without the members of content parts that the release strips, unless it has posted them."""
        content = message.get("content")
        if reading_of(self.client).part_members or not isinstance(content, list) or content in posted:
            return message
        kept = [{name: part[name] for name in part if name not in _stripped(part)} for part in content]
        return message | {"content": kept}

    def ask(self, id: str = "u2") -> list[Json]:
        """Have the user type a question, and return what the agent gets."""
        self.held.append(user(id))
        return self.given()

    def given(self, *, kept: Kept | None = None, client: str | None = None) -> list[Json]:
        """What the agent gets of what is held."""
        messages: list[Json] = json.loads(self.restored(kept=kept, client=client).posted.raw)["messages"]
        return messages

    def restored(self, *, kept: Kept | None = None, client: str | None = None) -> Restored:
        version = self.client if client is None else parse_client(client)
        return restore(read(posted(self.held), version), kept or self.memory.kept or Kept(), version)

    def restoration(self) -> Restoration:
        """What is put back into what is held."""
        restoration = self.restored().restoration
        assert restoration is not None
        return restoration

    def drop(self, id: str) -> None:
        """Have the user delete a message."""
        self.held = [message for message in self.held if message["id"] != id]


def _stripped(part: Json) -> tuple[str, ...]:
    return () if part["type"] == "binary" else ("id", "metadata") if part["type"] == "text" else ("id",)


def posted(messages: list[Json]) -> bytes:
    rest: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return json.dumps({"threadId": "t", "runId": "r", "messages": messages, **rest}).encode()


def user(id: str, content: str = "go on") -> Json:
    return {"id": id, "role": "user", "content": content}


def ids(messages: list[Json]) -> list[str]:
    return [message["id"] for message in messages]


__all__ = ["LIMIT", "Route", "Thread", "ids", "posted", "user"]
