"""The projections of the differences in what messages hold: their content parts, their members, their roles."""

from typing import Any

from agui_middleware.downgrades import Difference
from tests.downgrades.cases import Case
from tests.downgrades.projections import End, projects
from tests.strategies import Json

MEDIA = ("image", "audio", "video", "document")


def _parts(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _text(parts: list[Json]) -> str:
    return "".join(part["text"] for part in parts if part["type"] == "text")


@projects(Difference.RESULT_TEXT)
def _result_text(end: End, _: Case) -> None:
    for message in end.messages:
        if message["role"] == "tool" and isinstance(message["content"], list):
            message["content"] = _text(message["content"])


@projects(Difference.WITHOUT_HANDLES)
def _without_handles(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [part for part in parts if part.get("source", {}).get("type") != "file"]


@projects(Difference.WITHOUT_PART_MEMBERS)
def _without_part_members(end: End, _: Case) -> None:
    for message in end.messages:
        for part in _parts(message):
            if part["type"] != "binary":
                part.pop("id", None)
            if part["type"] == "text":
                part.pop("metadata", None)


@projects(Difference.BINARY_HANDLES)
def _binary_handles(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [part for part in parts if part["type"] != "binary" or {"url", "data"} & part.keys()]


@projects(Difference.MEDIA_AS_BINARY)
def _media_as_binary(end: End, _: Case) -> None:
    for message in end.messages:
        parts = _parts(message)
        parts[:] = [_binary(part) if part["type"] in MEDIA else part for part in parts]


def _binary(part: Json) -> Json:
    source: Json = part["source"]
    unnamed = "application/octet-stream" if part["type"] == "document" else f"{part['type']}/*"
    binary: Json = {"type": "binary", "mimeType": source.get("mimeType", unnamed), source["type"]: source["value"]}
    metadata: Any = part.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("filename"), str):
        binary["filename"] = metadata["filename"]
    return binary


@projects(Difference.USER_TEXT)
def _user_text(end: End, _: Case) -> None:
    for message in end.messages:
        if message["role"] == "user" and isinstance(message["content"], list):
            message["content"] = _text(message["content"])


@projects(Difference.WITHOUT_ECHO)
def _without_echo(end: End, case: Case) -> None:
    asked = {message["id"] for message in case.run.messages}
    echoed = {message.get("id") for event in case.events for message in event.get("input", {}).get("messages", ())}
    end.messages = [message for message in end.messages if message["id"] in asked or message["id"] not in echoed]
