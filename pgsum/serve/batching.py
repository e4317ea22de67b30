"""Documents that wait to be summarized, joined into batches with others that want the same.

One search runs at a time, in a thread of its own. What comes meanwhile waits, up to a number; what
nobody waits for any more is not begun. Knows nothing of HTTP.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pgsum.config import DecodeConfig
from pgsum.summarizer import Summarizer, Summary


class FullError(Exception):
    """More documents wait than are let in."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    document: str
    summarizer: Summarizer
    decode: DecodeConfig
    summaries: asyncio.Future[list[Summary]]

    def joins(self, other: "_Waiting") -> bool:
        """Whether one search can find what both ask for."""
        return self.summarizer is other.summarizer and self.decode == other.decode


class Batches:
    """All documents that wait, the oldest first. To be used within one event loop."""

    def __init__(self, *, room: int) -> None:
        self._room = room
        self._waiting: list[_Waiting] = []
        self._arrived = asyncio.Event()

    async def summarize(
        self, summarizer: Summarizer, documents: Sequence[str], *, decode: DecodeConfig
    ) -> list[list[Summary]]:
        """As `Summarizer.summarize`, once it is their turn; nothing more is done when cancelled.

        None of the documents may be empty: a search of others' documents would fail with it. Raises
        FullError where there is no room for all of them.
        """
        if len(self._waiting) + len(documents) > self._room:
            raise FullError
        loop = asyncio.get_running_loop()
        mine = [
            _Waiting(document, summarizer, decode, loop.create_future()) for document in documents
        ]
        self._waiting += mine
        self._arrived.set()
        try:
            return await asyncio.gather(*(each.summaries for each in mine))
        finally:
            for each in mine:
                each.summaries.cancel()  # of no effect on those that are there
            self._waiting = [each for each in self._waiting if not each.summaries.done()]

    async def run(self) -> None:
        """Search, batch after batch, until cancelled; a search that runs then is waited for."""
        with ThreadPoolExecutor(1, "search") as thread:
            while True:
                await self._arrived.wait()
                if batch := self._next():
                    await _search(batch, thread)
                else:
                    self._arrived.clear()

    def _next(self) -> list[_Waiting]:
        """The oldest, and others that go with it, in their order."""
        if not self._waiting:
            return []
        oldest = self._waiting[0]
        alike = [each for each in self._waiting if each.joins(oldest)]
        batch = alike[: oldest.decode.batch_size]
        self._waiting = [each for each in self._waiting if each not in batch]
        return batch


async def _search(batch: Sequence[_Waiting], thread: ThreadPoolExecutor) -> None:
    summarizer, decode = batch[0].summarizer, batch[0].decode

    def search() -> list[list[Summary]]:
        return summarizer.summarize([each.document for each in batch], decode=decode)

    try:
        found = await asyncio.get_running_loop().run_in_executor(thread, search)
    except Exception as error:  # whoever waits for a document is told
        for each in batch:
            if not each.summaries.done():
                each.summaries.set_exception(error)
    else:
        for each, summaries in zip(batch, found, strict=True):
            if not each.summaries.done():
                each.summaries.set_result(summaries)
