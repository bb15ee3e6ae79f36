"""A scripted run that ends with a question to its user: an interrupt, which the next run has to answer."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

RUN = {"threadId": "demo", "runId": "run"}
QUESTION = "The fado house wants a deposit of 20 euros."
INTERRUPT = {"id": "deposit", "reason": "confirmation", "message": "Pay the deposit?", "toolCallId": "call-1"}


async def paused_run(pace: float) -> AsyncGenerator[dict[str, Any], None]:
    """The events of AG-UI 1.0, with a word every `pace` seconds."""
    yield {"type": "RUN_STARTED", **RUN}
    yield {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
    for piece in re.findall(r"\S+\s*", QUESTION):
        await asyncio.sleep(pace)
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": piece}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    yield {"type": "TOOL_CALL_START", "toolCallId": "call-1", "toolCallName": "pay_deposit", "parentMessageId": "m"}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": "call-1", "delta": '{"euros":20}'}
    yield {"type": "TOOL_CALL_END", "toolCallId": "call-1"}
    yield {"type": "RUN_FINISHED", **RUN, "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}}
