"""The table of SDKs: one row for each range of versions that reads alike.

A new version that reads as its predecessor needs no row. One that reads differently gets a row behind it; `rows` names the
features that it cannot read, apart from those of the release that it reads `like`.
"""

from typing import Final

from agui_middleware.config.readers import Reader, Sdk
from agui_middleware.config.sdk_versions import SNAPSHOTS, handing_on, sdk, since

_ONE_AT_A_TIME: Final = ("several-runs", "interleaving")
_STRING_MESSAGES: Final = ("five-roles", "user-parts")


def _kotlin(version: str, *rows: str, like: str, limits: str = "") -> Reader:
    return since(version, *rows, "posted-tool-names", like=like, limits=limits, ignores=SNAPSHOTS)


def _tanstack(version: str, *rows: str) -> Reader:
    return since(
        version,
        *rows,
        "other-parents",
        like="0.0.58",
        proof="measured",
        limits="ignores state and activities, and posts the results of tools under ids of its own",
        as_assistant=("developer",),
    )


_DOTNET: Final = ("interleaving", "no-steps", "no-raw-or-custom", "no-snapshots")
_RUST: Final = ("interleaving", "no-snapshots")
_TANSTACK_STEPS: Final = ("no-steps", *_ONE_AT_A_TIME, "call-messages")
_LONG_IDS: Final = "rejects ids of threads and runs that are longer than 100 characters"

SDKS: Final[tuple[Sdk, ...]] = (
    sdk(
        "Dart",
        "ag_ui",
        versions=(
            handing_on("0.1.0", "no-input-echo", "posted-names", like="0.0.40", limits=_LONG_IDS),
            handing_on("0.2.0", like="0.0.53", limits=_LONG_IDS),
        ),
    ),
    sdk(
        "Kotlin",
        "kotlin-client",
        "kotlin-core",
        "kotlin-tools",
        "com.ag-ui.community:kotlin-client",
        "com.ag-ui.community:kotlin-core",
        "com.ag-ui.community:kotlin-tools",
        versions=(
            _kotlin("0.2.1", *_ONE_AT_A_TIME, like="0.0.40"),
            _kotlin("0.2.4", *_ONE_AT_A_TIME, "five-roles", like="0.0.44"),
            _kotlin(
                "0.2.5",
                "five-roles",
                like="0.0.44",
                limits="posts texts that overlapped back cut short, if its stateful agent keeps the history",
            ),
            _kotlin("0.4.0", "five-roles", "media-parts", "other-parents", like="0.0.53"),
            _kotlin("0.4.1", "five-roles", "media-parts", "other-parents", like="0.0.58"),
        ),
    ),
    sdk(
        "Go",
        "github.com/ag-ui-protocol/ag-ui/sdks/community/go",
        "ag-ui-go",
        # Pseudo-versions, which begin with the time of the commit: v0.0.0-20260226120000-abcdef123456.
        versions=(
            handing_on("0.0.0-20251010-0", "activities", like="0.0.44"),
            handing_on("0.0.0-20251120-0", like="0.0.44"),
            handing_on("0.0.0-20260226-0", like="0.0.53"),
            handing_on("0.0.0-20260514-0", like="0.0.58"),
        ),
    ),
    sdk(
        "Java",
        "java-client",
        "com.ag-ui.community:java-client",
        "com.ag-ui:client",
        versions=(
            handing_on("0.0.1", "declared-members", like="0.0.40"),
            handing_on("0.1.0", *_STRING_MESSAGES, "no-input-echo", "null-states", "posted-resume", like="0.0.58"),
        ),
    ),
    sdk(
        "Rust (ag-ui)",
        "ag-ui",
        "ag-ui-rust",
        versions=(since("0.1.0", "several-runs", "other-parents", like="0.0.58"),),
    ),
    sdk(
        "Rust (ag-ui-client)",
        "ag-ui-client",
        versions=(
            since(
                "0.1.0",
                *_RUST,
                like="0.0.40",
                comments=False,
                refused="reads only UUIDs as ids of threads, runs and messages, and no id is ever changed; where the "
                "agent gives nothing but UUIDs, name it ag-ui-client-uuids",
            ),
        ),
    ),
    sdk(
        "Rust (ag-ui-client, where all ids are UUIDs)",
        "ag-ui-client-uuids",
        versions=(
            since(
                "0.1.0",
                *_RUST,
                like="0.0.40",
                comments=False,
                limits="loses a tool call whose `parentMessageId` is not its last message",
            ),
        ),
    ),
    sdk(
        ".NET (Microsoft.Agents.AI.AGUI)",
        "Microsoft.Agents.AI.AGUI",
        versions=(
            since("1.0.0-preview.251105", *_DOTNET, "thinking-events", "no-tool-calls", "no-state", like="0.0.40"),
            since("1.0.0-preview.251107", *_DOTNET, "thinking-events", "no-state", like="0.0.40"),
            since("1.0.0-preview.251110", *_DOTNET, "thinking-events", like="0.0.40"),
            since("1.5.0-0", *_DOTNET, "activities", "other-parents", like="0.0.58"),
        ),
    ),
    sdk(
        ".NET (AGUI.Client)",
        "AGUI.Client",
        versions=(
            since(
                "0.0.3",
                "other-parents",
                "posted-text-parts",
                like="0.0.58",
                ignores=SNAPSHOTS,
                limits="throws at RUN_ERROR",
            ),
            since("0.0.4", "other-parents", "posted-text-parts", like="0.0.58", ignores=SNAPSHOTS),
        ),
    ),
    sdk(
        "C++",
        "ag-ui-cpp",
        "AG-UI-CPP-SDK",
        versions=(since("1.0.0", *_STRING_MESSAGES, "empty-patches", "null-states", like="0.0.44"),),
        user_agent="AG-UI-CPP-SDK",
    ),
    sdk(
        "Swift",
        "ag-ui-swift",
        "AGUISwift",
        versions=(since("1.0.0", like="0.0.44"),),
        user_agent="AGUISwift",
    ),
    sdk(
        "Python (AGUIChatClient)",
        "agent-framework-ag-ui",
        "AGUIChatClient",
        versions=(
            since(
                "1.0.0",
                "parallel-calls",
                "posted-names",
                like="0.0.58",
                proof="measured",
                limits="ignores reasoning, state, activities and snapshots",
                ignores=SNAPSHOTS,
                as_assistant=("user", "system", "developer"),
            ),
        ),
    ),
    sdk(
        "TanStack",
        "@tanstack/ai-client",
        versions=(
            since(
                "0.0.1",
                *_TANSTACK_STEPS,
                "other-parents",
                "no-snapshots",
                "member-aliases",
                "posted-ui-messages",
                like="0.0.58",
                proof="measured",
                limits="ignores tool results, reasoning, state and activities",
                ignores=("tool",),
            ),
            _tanstack("0.7.11", *_TANSTACK_STEPS, "no-snapshots", "posted-ui-messages"),
            _tanstack("0.10.0", *_TANSTACK_STEPS, "no-snapshots", "posted-data"),
            _tanstack("0.18.6", *_TANSTACK_STEPS, "activity-messages", "posted-data"),
            _tanstack("0.26.0", "several-runs", "call-messages", "activity-messages", "posted-data"),
            _tanstack("0.30.0", "activity-messages", "posted-data"),
        ),
    ),
    sdk(
        "ragas",
        "ragas",
        versions=(
            since(
                "0.4.2",
                *_STRING_MESSAGES,
                "reopened-calls",
                "posted-names",
                like="0.0.58",
                proof="measured",
                limits="ignores state, activities, reasoning and texts of the roles `system` and `developer`, and raises at "
                "the arguments of a tool call that are JSON but no object",
            ),
        ),
    ),
)
