"""Who waits for whom, who goes together, and what is not begun."""

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from pgsum.serve.batching import Batches, FullError


@asynccontextmanager
async def running(batches):
    task = asyncio.create_task(batches.run())
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def asking(batches, model, *documents, **settings):
    decode = replace(model.bundle.config.decode, **settings)
    return asyncio.ensure_future(batches.summarize(model, documents, decode=decode))


async def begun(model):
    """The next search has begun, and all that was asked before is known."""
    assert await asyncio.to_thread(model.begun.acquire, timeout=30)


def test_each_gets_the_summaries_of_its_own_documents(summarizer):
    documents = [["The cat sat."], ["A dog ran home.", "Oslo is near."], ["The mat."]]

    async def ask():
        batches = Batches(room=9)
        async with running(batches):
            return await asyncio.gather(*(asking(batches, summarizer, *some) for some in documents))

    found = asyncio.run(ask())
    for some, summaries in zip(documents, found, strict=True):
        assert [best.document for [best] in summaries] == some
        alone = [summarizer(document) for document in some]
        assert [best.text for [best] in summaries] == [summary.text for summary in alone]


def test_those_that_wait_and_want_the_same_go_together(held):
    async def ask():
        batches = Batches(room=9)
        async with running(batches):
            first = asking(batches, held, "first")
            await begun(held)
            rest = [asking(batches, held, "a"), asking(batches, held, "b", beam_size=1)]
            rest += [asking(batches, held, "c", "d"), asking(batches, held, "e", beam_size=1)]
            await asyncio.sleep(0)
            held.go.set()
            await asyncio.gather(first, *rest)

    asyncio.run(ask())
    assert held.asked == [["first"], ["a", "c", "d"], ["b", "e"]]


def test_a_batch_is_no_larger_than_the_model_has_it(held):
    async def ask():
        batches = Batches(room=9)
        async with running(batches):
            all_ = asking(batches, held, *"abcde", batch_size=2)
            held.go.set()
            await all_

    asyncio.run(ask())
    assert held.asked == [["a", "b"], ["c", "d"], ["e"]]


def test_two_models_are_never_asked_at_once_nor_together(held, tiny_model):
    other = type(held)(held.bundle)
    other.go = held.go

    async def ask():
        batches = Batches(room=9)
        async with running(batches):
            both = [asking(batches, held, "a"), asking(batches, other, "b")]
            await begun(held)
            assert other.asked == []
            held.go.set()
            await asyncio.gather(*both)

    asyncio.run(ask())
    assert (held.asked, other.asked) == ([["a"]], [["b"]])


def test_what_nobody_waits_for_any_more_is_not_begun_and_makes_room(held):
    async def ask():
        batches = Batches(room=2)
        async with running(batches):
            first = asking(batches, held, "first")
            await begun(held)
            left = asking(batches, held, "left", "left")
            await asyncio.sleep(0)
            with pytest.raises(FullError):
                await asking(batches, held, "too many")
            left.cancel()
            await asyncio.wait([left])
            stays = asking(batches, held, "stays", "stays")
            await asyncio.sleep(0)
            held.go.set()
            await asyncio.gather(first, stays)

    asyncio.run(ask())
    assert held.asked == [["first"], ["stays", "stays"]]


def test_a_search_that_fails_is_told_to_all_and_the_next_one_is_made(summarizer, monkeypatch):
    sound = summarizer.summarize

    def summarize(documents, **settings):
        if "bad" in documents:
            raise RuntimeError("no memory")
        return sound(documents, **settings)

    monkeypatch.setattr(summarizer, "summarize", summarize)

    async def ask():
        batches = Batches(room=9)
        async with running(batches):
            both = [asking(batches, summarizer, "bad"), asking(batches, summarizer, "good")]
            ends = await asyncio.gather(*both, return_exceptions=True)
            return ends, await asking(batches, summarizer, "good")

    ends, later = asyncio.run(ask())
    assert [str(end) for end in ends] == ["no memory", "no memory"]
    assert later[0][0].document == "good"
