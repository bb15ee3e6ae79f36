"""What has to see the stream as the client does, to tell what the client makes of it."""

from agui_middleware.downgrades.downgrade import Difference, Downgrade
from agui_middleware.downgrades.interleaving import one_at_a_time
from agui_middleware.downgrades.nested_steps import one_step_at_a_time
from agui_middleware.downgrades.pieces import join_texts
from agui_middleware.downgrades.predicted_state import without_predicted_state
from agui_middleware.downgrades.several_runs import join_runs
from agui_middleware.downgrades.text_roles import assistant_texts
from agui_middleware.downgrades.unchanged_runs import touch_state

LAST: tuple[Downgrade, ...] = (
    Downgrade(
        "predicted-state",
        "0.0.34",
        without_predicted_state,
        "changes the state at the CUSTOM event `PredictState`",
    ),
    Downgrade(
        "several-runs",
        "0.0.37",
        join_runs,
        "reads one run a stream, and rejects the next",
        loss="the ends of all runs but the last",
    ),
    Downgrade(
        "text-roles",
        "0.0.37",
        assistant_texts,
        "rejects texts whose role is absent, or not the assistant's",
        loss="texts that are streamed in another role",
        differences=(Difference.WITHOUT_OTHER_ROLES,),
    ),
    Downgrade(
        "nested-steps",
        "0.0.34",
        one_step_at_a_time,
        "rejects a step that begins while another one is open",
        loss="steps inside steps",
    ),
    Downgrade(
        "unchanged-runs",
        "0.0.34",
        touch_state,
        "rejects a run that changes neither messages nor state",
    ),
    Downgrade(
        "interleaving",
        "0.0.37",
        one_at_a_time,
        "rejects everything but its content while a text or a tool call is open",
        loss="what is added to a text whose message a snapshot deletes and a tool call brings back",
        differences=(Difference.IN_PIECES, Difference.WITHOUT_REVIVED),
        upgrade=join_texts,
    ),
)
