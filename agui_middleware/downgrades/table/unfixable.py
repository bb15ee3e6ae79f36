"""What no rewriting helps, because the release cannot be told in any way that it reads.

These rows have no filter. They record what becomes of the feature, so that users can be told and tests expect it.
"""

from agui_middleware.downgrades.downgrade import Difference, Downgrade
from agui_middleware.downgrades.result_order import results_behind_calls

UNFIXABLE: tuple[Downgrade, ...] = (
    Downgrade(
        "metadata",
        "0.0.59",
        None,
        "keeps no `metadata` with messages and tool calls",
        loss="metadata that the client would send back",
        differences=(Difference.WITHOUT_METADATA,),
    ),
    Downgrade(
        "activity-authority",
        "1.0.0",
        None,
        "has no way to be told which activities a snapshot has all of",
        broken_since="0.0.41",
        differences=(Difference.OTHER_ACTIVITIES,),
    ),
    Downgrade(
        "removed-activities",
        "0.0.58",
        None,
        "keeps an activity that a snapshot of activities leaves out",
        broken_since="0.0.46",
        differences=(Difference.OTHER_ACTIVITIES,),
    ),
    Downgrade(
        "removed-reasoning",
        "0.0.57",
        None,
        "keeps the reasoning that it holds, whatever a snapshot says of it",
        broken_since="0.0.50",
        differences=(Difference.OTHER_REASONING, Difference.RESULTS_LAST),
        upgrade=results_behind_calls,
    ),
    Downgrade(
        "snapshot-order",
        "0.0.46",
        None,
        "takes over the order of a snapshot for messages that it holds",
        differences=(Difference.SNAPSHOT_ORDER,),
    ),
    Downgrade(
        "result-order",
        "0.0.55",
        None,
        "appends a tool's result to its messages, wherever its call stands",
        differences=(Difference.RESULTS_LAST,),
        upgrade=results_behind_calls,
    ),
    Downgrade(
        "part-members",
        "1.0.0",
        None,
        "keeps no `id` with a content part, and no `metadata` with a text",
        loss="what a part says beside its content",
        broken_since="0.0.41",
        differences=(Difference.WITHOUT_PART_MEMBERS,),
    ),
    Downgrade(
        "tool-errors",
        "0.0.36",
        None,
        "keeps no `error` with a tool's result",
        loss="that a tool failed",
        differences=(Difference.WITHOUT_ERRORS,),
    ),
)
