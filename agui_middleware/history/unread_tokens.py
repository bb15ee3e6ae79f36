"""Tokens that only the agent has: kept as they came, and read together."""

from typing import Final

from agui_middleware.history.beginnings import delta_in
from agui_middleware.protocol.budget import OVERHEAD
from agui_middleware.protocol.conversation import Conversation

_MAX: Final = 32 * 1024  # bytes, of all entities


class UnreadTokens(dict[str, list[bytes]]):
    """By the id of an entity that the client has not, the tokens that the agent has sent of it since they were last read.

    They are for the agent's `conversation`. It is a dictionary since each token asks whether its entity is there.
    """

    __slots__ = ("_conversation", "_of_calls", "_size")

    def __init__(self, conversation: Conversation, *, of_calls: bool) -> None:
        super().__init__()
        self._conversation = conversation
        self._of_calls = of_calls
        self._size = 0

    def open(self, id: str) -> None:
        """Keep the tokens of an entity from here on."""
        self[id] = []
        self._size += OVERHEAD

    def take(self, id: str, token: bytes) -> bool:
        """Keep a token that says nothing but its text, where its entity is open; otherwise return `False`."""
        tokens = self.get(id)
        if tokens is None:
            return False
        tokens.append(token)
        self._size += len(token)
        if self._size > _MAX:
            self.read_all()
        return True

    def read(self, id: str) -> None:
        """Append what is kept of an entity, which is closed."""
        deltas = [delta for token in self.pop(id) if (delta := delta_in(token)) is not None]
        if deltas:
            self._conversation.append(id, self._of_calls, "".join(deltas))

    def read_all(self) -> None:
        """As `read`, of all."""
        self._size = 0
        for id in list(self):
            self.read(id)
