"""The names of the situations that `features` can find, beside event types and shapes."""

from ..reader.lanes import CLOSES_ALL, CLOSES_ITS_LANE

LIFECYCLE = {
    "SUBAGENT_STARTED": ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId"),
    "SUBAGENT_FINISHED": ("result", "outcome"),
}
_KINDS = ("text", "tool", "reasoning", "span")
_ROLES = ("user", "assistant", "system", "developer", "tool", "reasoning", "activity")

SITUATIONS = frozenset(
    {
        "empty run",
        "left open by an error",
        "interleaving",
        "unanswered calls",
        "numbers beyond 2^53",
        *(f"outcome {kind}" for kind in ("absent", "success", "interrupt", "cancelled")),
        "pending calls named",
        "no pending calls named",
        "interrupt subagentRunId",
        "interrupt toolCallId",
        # subagents
        "parallel subagents",
        "subagent never announced",
        "suspended subagent",
        "tag before its subagent started",
        "tag after its subagent ended",
        *(
            f"SUBAGENT_STARTED {m}"
            for m in ("description", "parentSubagentRunId", "parentToolCallId", "parentMessageId")
        ),
        *(f"SUBAGENT_FINISHED {member}" for member in ("result", "outcome")),
        *(f"{un}tagged continuation of a subagent's {kind}" for un in ("", "un") for kind in _KINDS),
        "untagged reopening of a subagent's",
        "untagged change of a subagent's activity",
        "untagged call of a subagent",
        "state of a subagent",
        "activity of a subagent",
        "activity of the parent",
        "activity kept",
        "equal steps of two owners",
        # chunks
        "parallel lanes",
        "parallel lanes of one kind",
        "three lanes",
        "lanes of the parent and a subagent",
        # No stream is left for RUN_STARTED: the terminal event before it has closed them.
        *(f"lane closed by {type_}" for type_ in (CLOSES_ITS_LANE | CLOSES_ALL) - {"RUN_STARTED"}),
        *(f"chunk ends {kind}" for kind in ("text", "tool", "reasoning")),
        *(f"chunk continues {how}" for how in ("by id", "by tag", "bare")),
        "bare chunk of a subagent",
        "untagged chunk of a subagent",
        "chunk repeats its opener",
        "chunk without effect",
        # entities
        *(f"reopened {kind} by {how}" for kind in ("text", "tool", "reasoning") for how in ("start", "chunk")),
        "reopened span by start",
        "span and reasoning of one id",
        *(f"role {role}" for role in ("absent", "assistant", "user", "system", "developer")),
        "call without a parent",
        "call under a message",
        "call under another role",
        "call mints its parent",
        *(f"the parent's call answered by {who}" for who in ("the owner", "another subagent")),
        *(f"a subagent's call answered by {who}" for who in ("the owner", "the parent", "another subagent")),
        *(f"encrypted value of {what}" for what in ("message", "tool-call", "something unknown")),
        # messages that arrive whole
        *(f"{how} {role} message" for how in ("restated", "echoed") for role in _ROLES),
        "restated subagent's message",
        "echoed subagent's message",
        "snapshot of known messages",
        "snapshot drops messages",
        "snapshot owns activities",
    }
)
