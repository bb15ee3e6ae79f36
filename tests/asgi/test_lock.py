import asyncio

import anyio
import pytest

from agui_middleware.asgi.lock import Lock
from tests.conftest import Run


def test_a_free_turn_is_taken_without_waiting() -> None:
    lock = Lock()
    assert lock.take()
    assert not lock.take()
    lock.release()
    with pytest.raises(StopIteration):
        lock.wait().send(None)
    assert lock.locked
    lock.release()
    assert not lock.locked


def test_the_one_who_has_waited_longest_comes_next(run: Run) -> None:
    async def scenario() -> None:
        lock, order, waiting = Lock(), list[int](), anyio.Event()
        await lock.wait()

        async def wait(number: int) -> None:
            if number == 2:
                waiting.set()
            await lock.wait()
            order.append(number)
            await anyio.lowlevel.checkpoint()
            assert lock.locked
            lock.release()

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(wait, number)
                await anyio.wait_all_tasks_blocked()
            await waiting.wait()
            assert order == []
            lock.release()
        assert order == [0, 1, 2]
        assert not lock.locked

    run(scenario)


def test_one_who_is_cancelled_while_it_waits_leaves_the_queue(run: Run) -> None:
    async def scenario() -> None:
        lock, order = Lock(), list[str]()
        await lock.wait()

        async def wait(name: str, scope: anyio.CancelScope) -> None:
            with scope:
                await lock.wait()
                order.append(name)

        leaves = anyio.CancelScope()
        async with anyio.create_task_group() as group:
            group.start_soon(wait, "leaves", leaves)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(wait, "stays", anyio.CancelScope())
            await anyio.wait_all_tasks_blocked()
            leaves.cancel()
            await anyio.wait_all_tasks_blocked()
            lock.release()
        assert order == ["stays"]
        lock.release()
        assert not lock.locked

    run(scenario)


async def test_one_who_is_cancelled_as_its_turn_comes_hands_it_on() -> None:
    """Only asyncio's own `Task.cancel` comes between the call and the wake-up."""
    lock, order = Lock(), list[str]()
    await lock.wait()

    async def wait(name: str) -> None:
        await lock.wait()
        order.append(name)
        lock.release()

    leaves, stays = asyncio.create_task(wait("leaves")), asyncio.create_task(wait("stays"))
    await anyio.wait_all_tasks_blocked()
    lock.release()
    leaves.cancel()
    await stays
    assert leaves.cancelled()
    assert order == ["stays"]
    assert not lock.locked


def test_one_who_is_called_and_cancelled_at_once_does_not_come(run: Run) -> None:
    async def scenario() -> None:
        lock, came = Lock(), list[str]()
        await lock.wait()

        async def wait() -> None:
            await lock.wait()
            came.append("all the same")

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            lock.release()
            group.cancel_scope.cancel()
        assert came == []
        assert not lock.locked

    run(scenario)
