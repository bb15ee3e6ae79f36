"""Streams with the faults of servers that serialise too much, each as such a server writes it, with the report it is from.

They are written by hand: no server of these kinds runs in the tests.
"""

WRITTEN: dict[str, tuple[str, bytes]] = {}
"""By kind of server: the fault as it is named in the log, and the stream."""


def _frames(lines: list[str]) -> bytes:
    return b"".join(f"data: {line}\n\n".encode() for line in lines)


# ag-ui-protocol/ag-ui#2816: models of ag-ui-protocol before 1.0.0, dumped without `exclude_none`.
WRITTEN["fastapi"] = (
    "null-members",
    _frames(
        [
            '{"type":"RUN_STARTED","timestamp":null,"threadId":"t","runId":"r","parentRunId":null,"input":null}',
            '{"type":"TOOL_CALL_START","timestamp":null,"toolCallId":"c","toolCallName":"today","parentMessageId":null}',
            '{"type":"TOOL_CALL_ARGS","timestamp":null,"rawEvent":null,"toolCallId":"c","delta":"{}"}',
            '{"type":"TOOL_CALL_END","timestamp":null,"rawEvent":null,"toolCallId":"c"}',
            '{"type":"TEXT_MESSAGE_START","timestamp":null,"rawEvent":null,"messageId":"m","role":"assistant"}',
            '{"type":"TEXT_MESSAGE_CONTENT","timestamp":null,"rawEvent":null,"messageId":"m","delta":"Monday."}',
            '{"type":"TEXT_MESSAGE_END","timestamp":null,"rawEvent":null,"messageId":"m"}',
            '{"type":"RUN_FINISHED","timestamp":null,"rawEvent":null,"threadId":"t","runId":"r","result":null}',
        ]
    ),
)

# microsoft/agent-framework#2637: System.Text.Json without WhenWritingNull.
WRITTEN["dotnet"] = (
    "null-members",
    _frames(
        [
            '{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":null,"input":null,"timestamp":null,"rawEvent":null}',
            '{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"today","parentMessageId":null,"timestamp":null}',
            '{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}","timestamp":null,"rawEvent":null}',
            '{"type":"TOOL_CALL_END","toolCallId":"c","timestamp":null,"rawEvent":null}',
            '{"type":"TOOL_CALL_RESULT","messageId":"c","toolCallId":"c","content":"Monday","role":null,"timestamp":null}',
            '{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant","timestamp":null,"rawEvent":null}',
            '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Montag, sch\\u00F6n","timestamp":null,"rawEvent":null}',
            '{"type":"TEXT_MESSAGE_END","messageId":"m","timestamp":null,"rawEvent":null}',
            '{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null,"outcome":null,"usage":null,"timestamp":null}',
        ]
    ),
)

# The same of Jackson without NON_NULL, which writes members in the order of its classes: `type` need not come first.
WRITTEN["java"] = (
    "null-members",
    _frames(
        [
            '{"timestamp":null,"rawEvent":null,"type":"RUN_STARTED","threadId":"t","runId":"r"}',
            '{"timestamp":null,"rawEvent":null,"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}',
            '{"timestamp":null,"rawEvent":null,"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Monday."}',
            '{"timestamp":null,"rawEvent":null,"type":"TEXT_MESSAGE_END","messageId":"m"}',
            '{"timestamp":null,"rawEvent":null,"type":"RUN_FINISHED","threadId":"t","runId":"r","result":null}',
        ]
    ),
)

# ag-ui-protocol/ag-ui#1169, #1329: ag-ui-protocol 0.1.11 to 0.1.13 had no other role.
WRITTEN["ag-ui-protocol-0.1.12"] = (
    "reasoning-role",
    _frames(
        [
            '{"type":"RUN_STARTED","threadId":"t","runId":"r"}',
            '{"type":"REASONING_START","messageId":"g"}',
            '{"type":"REASONING_MESSAGE_START","messageId":"g","role":"assistant"}',
            '{"type":"REASONING_MESSAGE_CONTENT","messageId":"g","delta":"Let me see."}',
            '{"type":"REASONING_MESSAGE_END","messageId":"g"}',
            '{"type":"REASONING_END","messageId":"g"}',
            '{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}',
            '{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"Monday."}',
            '{"type":"TEXT_MESSAGE_END","messageId":"m"}',
            '{"type":"RUN_FINISHED","threadId":"t","runId":"r"}',
        ]
    ),
)
