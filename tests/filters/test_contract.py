import pytest

from agui_middleware import ClientVersion, Context, Event
from agui_middleware.filters.contract import Loss
from agui_middleware.filters.declared import EVERYTHING, HandledTypes
from agui_middleware.protocol.errors import EventTooLarge


def test_a_context_outside_a_server_knows_nothing() -> None:
    context = Context()
    assert (context.client, context.route, context.scope) == (None, None, {})
    context.lost("shape", "why")  # nobody listens


def test_a_context_tells_of_client_route_and_scope() -> None:
    client, route, scope = ClientVersion.parse("0.0.58"), "/agent", {"type": "http"}
    context = Context(client, route, scope)
    assert (context.client, context.route, context.scope) == (client, route, scope)


def test_a_loss_is_reported_once_a_response_and_shape() -> None:
    losses: list[Loss] = []
    first, second = Context(on_loss=losses.append), Context(on_loss=losses.append)
    for context in (first, first, second):
        for shape in ("a", "b"):
            context.lost(shape, "because", "1.0.0")
    assert [(loss.feature, loss.context) for loss in losses] == [
        ("a", first),
        ("b", first),
        ("a", second),
        ("b", second),
    ]


@pytest.mark.parametrize(
    ("client", "since", "text"),
    [
        (None, None, "lost: media: no room"),
        (None, "1.0.0", "lost: media: no room; @ag-ui/client 1.0.0 and newer keep it"),
        ("0.0.58", "1.0.0", "lost for @ag-ui/client 0.0.58: media: no room; @ag-ui/client 1.0.0 and newer keep it"),
    ],
)
def test_a_loss_says_what_for_whom_why_and_since_when_it_is_kept(
    client: str | None, since: str | None, text: str
) -> None:
    losses: list[Loss] = []
    Context(client and ClientVersion.parse(client), on_loss=losses.append).lost("media", "no room", since)  # type: ignore[arg-type]  # "" is not there
    assert str(losses[0]) == text
    assert (losses[0].feature, losses[0].reason, losses[0].fixed_in) == ("media", "no room", since)


def test_what_is_held_back_is_bounded_for_all_filters_together() -> None:
    event = Event(type="X", text="x" * 20)
    size = len(event.raw) + 100
    context = Context(max_event_bytes=2 * size)
    context.hold(event)
    context.hold(event)
    context.release(event)
    context.hold(event)
    with pytest.raises(EventTooLarge):
        context.hold(event)


@pytest.mark.parametrize(
    ("declared", "inside", "outside"),
    [
        (HandledTypes(frozenset("AB"), frozenset()), "AB", "C"),
        (HandledTypes(frozenset({EVERYTHING}), frozenset("AB")), "CD", "AB"),
        (HandledTypes(frozenset({EVERYTHING}), frozenset()), "ABC", ""),
        (HandledTypes(frozenset(), frozenset()), "", "ABC"),
    ],
)
def test_handled_types(declared: HandledTypes, inside: str, outside: str) -> None:
    assert all(type in declared for type in inside)
    assert not any(type in declared for type in outside)
