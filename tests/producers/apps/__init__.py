"""A module a producer: its real endpoint around a fake model, in the scenarios that differ on the wire."""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

from tests.producers.scenario import Scenario

PRODUCERS = {
    "pydantic_ai": "pydantic_ai",
    "langgraph": "ag_ui_langgraph",
}
"""The modules of this package, and the package that each of them needs."""


def installed() -> list[str]:
    """The producers that this environment has."""
    return [name for name, package in PRODUCERS.items() if find_spec(package)]


def scenarios(producer: str) -> Mapping[str, Scenario]:
    """The scenarios of an installed producer, by their names."""
    found: Mapping[str, Scenario] = import_module(f"{__name__}.{producer}").SCENARIOS
    return found
