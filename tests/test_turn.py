import asyncio

import anyio
import pytest

from agui_middleware.turn import Turn
from tests.conftest import Run


def test_a_free_turn_is_taken_without_waiting() -> None:
    turn = Turn()
    with pytest.raises(StopIteration):
        turn.take().send(None)
    assert turn.taken
    turn.give()
    assert not turn.taken


def test_the_one_who_has_waited_longest_comes_next(run: Run) -> None:
    async def scenario() -> None:
        turn, order, waiting = Turn(), list[int](), anyio.Event()
        await turn.take()

        async def wait(number: int) -> None:
            if number == 2:
                waiting.set()
            await turn.take()
            order.append(number)
            await anyio.lowlevel.checkpoint()
            assert turn.taken
            turn.give()

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(wait, number)
                await anyio.wait_all_tasks_blocked()
            await waiting.wait()
            assert order == []
            turn.give()
        assert order == [0, 1, 2]
        assert not turn.taken

    run(scenario)


def test_one_who_is_cancelled_while_it_waits_leaves_the_queue(run: Run) -> None:
    async def scenario() -> None:
        turn, order = Turn(), list[str]()
        await turn.take()

        async def wait(name: str, scope: anyio.CancelScope) -> None:
            with scope:
                await turn.take()
                order.append(name)

        leaves = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(wait, "leaves", leaves)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(wait, "stays", anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            leaves.cancel()
            await anyio.wait_all_tasks_blocked()
            turn.give()
        assert order == ["stays"]
        turn.give()
        assert not turn.taken

    run(scenario)


async def test_one_who_is_cancelled_as_its_turn_comes_hands_it_on() -> None:
    """Only asyncio's own `Task.cancel` comes between the call and the wake-up."""
    turn, order = Turn(), list[str]()
    await turn.take()

    async def wait(name: str) -> None:
        await turn.take()
        order.append(name)
        turn.give()

    leaves, stays = asyncio.create_task(wait("leaves")), asyncio.create_task(wait("stays"))
    await anyio.wait_all_tasks_blocked()
    turn.give()
    leaves.cancel()
    await stays
    assert leaves.cancelled()
    assert order == ["stays"]
    assert not turn.taken


def test_one_who_is_called_and_cancelled_at_once_does_not_come(run: Run) -> None:
    async def scenario() -> None:
        turn, came = Turn(), list[str]()
        await turn.take()

        async def wait() -> None:
            await turn.take()
            came.append("all the same")

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            turn.give()
            group.cancel_scope.cancel()
        assert came == []
        assert not turn.taken

    run(scenario)
