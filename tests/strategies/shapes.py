"""The names of what a drawn run may hold, so that a test can leave shapes out that its subject does not serve."""

from __future__ import annotations

from typing import Literal, get_args

Shape = Literal[
    "subagents",
    "announcements",  # SUBAGENT_*; without them, tags alone
    "chunks",
    "several_runs",
    "runs_after_error",
    "run_errors",
    "errors_after_finish",
    "errors_first",  # RUN_ERROR before any RUN_STARTED
    "input_echo",
    "bare_echo",  # an echo without tools or context
    "protocol_version",
    "interrupts",
    "cancelled",
    "pending_calls",
    "usage",
    "results",
    "result_parts",
    "stray_results",  # for a call that the stream never showed
    "user_parts",  # what a user says as a list of parts
    "media_parts",
    "file_sources",
    "roles",  # text that is not the assistant's
    "absent_roles",
    "empty_deltas",
    "surrogates",  # a lone half of a surrogate pair, as a token cut inside an emoji leaves it
    "reopening",
    "reasoning",
    "encrypted_values",
    "activities",
    "activity_texts",  # a text under an activity's id, which the client drops
    "state",
    "falsy_state",
    "failing_patches",
    "steps",
    "snapshots",
    "custom",
    "raw",
    "metadata",
    "raw_events",  # the member rawEvent
    "timestamps",
    "odd_ids",
    "shared_ids",  # one id for two kinds of entity with different owners
    "foreign_holders",  # a subagent's call in a message that another's call minted
    "late_tags",  # the same id in a later run, opened without its tag
]
SHAPES: frozenset[Shape] = frozenset(get_args(Shape))
