"""A module a producer: its real endpoint around a fake model, in the scenarios that differ on the wire."""

import os
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from tests.producers.scenario import Scenario

# CrewAI and LiteLLM call home while they are imported.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "true", "OTEL_SDK_DISABLED": "true"}

PRODUCERS = {
    "ag2": "ag2",
    "adk": "ag-ui-adk",
    "agent_framework": "agent-framework-ag-ui",
    "agno": "agno",
    "crewai": "ag-ui-crewai",
    "langgraph": "ag-ui-langgraph",
    "langroid": "ag-ui-langroid",
    "llama_index": "llama-index-protocols-ag-ui",
    "pydantic_ai": "pydantic-ai-slim",
    "strands": "ag-ui-strands",
}
"""The modules of this package, and the distribution that each of them needs."""


def installed() -> list[str]:
    """The producers that this environment has."""
    return [name for name, distribution in PRODUCERS.items() if _has(distribution)]


def _has(distribution: str) -> bool:
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def scenarios(producer: str) -> Mapping[str, Scenario]:
    """The scenarios of an installed producer, by their names."""
    found: Mapping[str, Scenario] = import_module(f"{__name__}.{producer}").SCENARIOS
    return found
