"""What follows the stream as the oldest clients do, which verify more of its order than 1.0.0: one run a stream, one text or
tool call at a time, one step at a time, no run without a change.

A row belongs here where it has to see exactly what such a client sees, and so what all other rows have left.
"""

from agui_middleware.downgrades.downgrade import After, Difference, Downgrade
from agui_middleware.downgrades.interleaving import without_interleaving
from agui_middleware.downgrades.nested_steps import without_nested_steps
from agui_middleware.downgrades.pieces import join_texts
from agui_middleware.downgrades.predicted_state import without_predicted_state
from agui_middleware.downgrades.several_runs import join_several_runs
from agui_middleware.downgrades.text_roles import with_assistant_text_roles
from agui_middleware.downgrades.unchanged_runs import touch_unchanged_runs

STATEFUL: tuple[Downgrade, ...] = (
    Downgrade(
        "predicted-state",
        "0.0.34",
        without_predicted_state,
        "changes the state at the CUSTOM event `PredictState`",
    ),
    Downgrade(
        "several-runs",
        "0.0.37",
        join_several_runs,
        "reads one run a stream, and rejects the next",
        loss="the ends of all runs but the last",
        after=(
            After("runs-after-error", "a failed run that another one follows is joined to it there"),
            After(
                "call-parents", "the input echo of a RUN_STARTED, which this row drops, tells which messages there are"
            ),
            After("thinking-events", "an event between two runs parts them, unless it was dropped"),
            After("encrypted-values", "an event between two runs parts them, unless it was dropped"),
            After(
                "interrupts", "an interrupt stands in the end of its run, which this row drops where another follows"
            ),
        ),
    ),
    Downgrade(
        "text-roles",
        "0.0.37",
        with_assistant_text_roles,
        "rejects texts whose role is absent, or not the assistant's",
        loss="texts that are streamed in another role",
        differences=(Difference.WITHOUT_OTHER_ROLES,),
        after=(
            After("lost-parents", "a lost parent is recognised by the role of its message"),
            After("call-parents", "a parent that is no assistant is recognised by the role of its message"),
            After("reasoning-messages", "a message that the client is not sent gives no role to a text of its id"),
            After("thinking-events", "a message that the client is not sent gives no role to a text of its id"),
            After("results", "a message that the client is not sent gives no role to a text of its id"),
            After("several-runs", "an event between two runs parts them, even a text that is dropped"),
        ),
    ),
    Downgrade(
        "nested-steps",
        "0.0.34",
        without_nested_steps,
        "rejects a step that begins while another one is open",
        loss="steps inside steps",
        after=(After("several-runs", "a run that leaves a step open is not joined, even if the step is dropped"),),
    ),
    Downgrade(
        "unchanged-runs",
        "0.0.34",
        touch_unchanged_runs,
        "rejects a run that changes neither messages nor state",
        after=(
            After("runs-after-error", "a failed run that is continued changes nothing by its end"),
            After("several-runs", "runs that are joined have one end"),
            After("patch-operations", "a patch that loses all its operations is a change to this client"),
            After("text-roles", "a text that is dropped changes nothing"),
        ),
    ),
    Downgrade(
        "interleaving",
        "0.0.37",
        without_interleaving,
        "rejects everything but its content while a text or a tool call is open",
        loss="what is added to a text whose message a snapshot deletes and a tool call brings back",
        differences=(Difference.IN_PIECES, Difference.WITHOUT_REVIVED),
        after=(
            After("activities", "what is dropped must not wait"),
            After("encrypted-values", "what is dropped must not wait"),
            After("thinking-events", "what is dropped must not wait"),
            After("several-runs", "the end of a run, unless it is dropped, lets out and closes what waits"),
            After("text-roles", "a text that is dropped must not keep anything waiting"),
        ),
        upgrade=join_texts,
    ),
)
