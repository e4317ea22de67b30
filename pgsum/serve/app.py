"""The page and the API: which request leads to which answer.

Knows HTTP and summaries. What comes in has passed `gate.py`; who waits for whom is for
`batching.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp

import pgsum
from pgsum.config import DecodeConfig, change_config
from pgsum.errors import ConfigError
from pgsum.explain.content import Explained, to_object
from pgsum.explain.one_file import render
from pgsum.explain.page import SCRIPTS, page
from pgsum.serve.batching import Batches, FullError
from pgsum.serve.gate import Gate
from pgsum.serve.limits import Limits
from pgsum.serve.messages import (
    MOST_HYPOTHESES,
    MOST_TOKENS,
    Answer,
    Asked,
    Health,
    Info,
    Problem,
)
from pgsum.summarizer import Summarizer, Summary

_HERE = Path(__file__).parent
_RETRY_SECONDS = 1
_SETTINGS = Asked.model_fields.keys() - {"document", "model", "explain"}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The server is not called that"},
    403: {"model": Problem, "description": "Another site asks"},
    408: {"model": Problem, "description": "The body did not come in time"},
    413: {"model": Problem, "description": "The body is too large"},
    415: {"model": Problem, "description": "The body is not said to be JSON"},
    422: {"model": Problem, "description": "The body is not what it must be"},
    503: {"model": Problem, "description": "Too many documents wait: try again"},
    504: {"model": Problem, "description": "It took too long"},
}


class _GoneError(Exception):
    """Nobody waits for the answer."""


def create_app(
    models: Mapping[str, Summarizer],
    *,
    names: Collection[str] = ("localhost",),
    limits: Limits | None = None,
) -> ASGIApp:
    """A server of these models, the first of which is used where a request names none.

    `names` are those it may be called by, beside its numbers.
    """
    limits = limits or Limits()
    batches = Batches(room=limits.waiting)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        searching = asyncio.create_task(batches.run())
        yield
        searching.cancel()
        await asyncio.wait([searching])

    app = FastAPI(
        title="pgsum",
        version=pgsum.__version__,
        description="Summaries by a pointer-generator.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page comes from elsewhere
        redoc_url=None,
        lifespan=running,
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
    )
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=limits.body_bytes)
    _answer_problems(app)
    info = _info(models, limits)
    html = _form(info)

    @app.get("/", include_in_schema=False)
    async def show() -> HTMLResponse:
        # What its frames may do is said in the page itself.
        return HTMLResponse(
            html,
            headers={"content-security-policy": "frame-ancestors 'none'; form-action 'none'"},
        )

    @app.get("/api/health")
    async def health() -> Health:
        """That the server answers, whatever it is at."""
        return Health(status="ok")

    @app.get("/api/info")
    async def about() -> Info:
        """The models and the limits."""
        return info

    @app.post(
        "/api/summarize",
        response_model=Answer,
        response_model_exclude_unset=True,
        responses=_PROBLEMS,
    )
    async def summarize(asked: Asked, request: Request) -> dict[str, Any]:
        """Summarize one document, or several."""
        name = next(iter(models)) if asked.model is None else asked.model
        if name not in models:
            raise ConfigError(
                f"There is no model {name!r} here.",
                where="model",
                hint=f"one of {', '.join(models)}",
            )
        summarizer = models[name]
        decode = _decode(summarizer, asked)
        found = await _unless_gone(
            request, batches.summarize(summarizer, asked.documents, decode=decode)
        )
        # Drawing takes as long as a short search, and others are to be answered meanwhile.
        rows = await asyncio.to_thread(_rows, found, name if asked.explain else None)
        return {"model": name, "summaries": rows}

    named = app.openapi()["components"]["schemas"]["Asked"]["properties"]["model"]
    named["anyOf"][0]["enum"] = [*models]
    return Gate(app, names=names, limits=limits)


def _decode(summarizer: Summarizer, asked: Asked) -> DecodeConfig:
    config = summarizer.bundle.config
    return change_config(config, asked.overrides(), sections=["decode"]).decode


async def _unless_gone(
    request: Request, work: Coroutine[Any, Any, list[list[Summary]]]
) -> list[list[Summary]]:
    """What comes of `work`, which is given up when nobody waits for it any more."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise _GoneError
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _rows(found: Sequence[Sequence[Summary]], explained_by: str | None) -> list[dict[str, Any]]:
    rows = []
    for number, (best, *others) in enumerate(found, 1):
        row = {"id": str(number), **best.as_row(), "unfamiliar": best.unfamiliar}
        if others:
            row["others"] = [other.as_row() for other in others]
        if explained_by is not None:
            explained = Explained(str(number), best)
            row["explanation"] = to_object(explained)
            row["page"] = page([explained], title=f"Summary by {explained_by}")
        rows.append(row)
    return rows


def _info(models: Mapping[str, Summarizer], limits: Limits) -> Info:
    return Info.model_validate(
        {
            "pgsum": pgsum.__version__,
            "models": [
                {
                    "name": name,
                    "max_source_tokens": summarizer.bundle.config.text.max_source_tokens,
                    "words": len(summarizer.bundle.vocab),
                    "decode": {
                        setting: getattr(summarizer.bundle.config.decode, setting)
                        for setting in sorted(_SETTINGS)
                    },
                }
                for name, summarizer in models.items()
            ],
            "limits": asdict(limits),
        }
    )


def _form(info: Info) -> str:
    samples = sorted((_HERE / "samples").glob("*.txt"))
    return render(
        "form.html",
        folder=_HERE,
        styles=["page.css", "form.css"],
        scripts=["nodes.js", "form.js"],
        framed=SCRIPTS,
        directives="; connect-src 'self'; base-uri 'none'",
        data={
            **info.model_dump(),
            "samples": {path.stem: path.read_text(encoding="utf-8") for path in samples},
        },
        title="pgsum",
        most={"hypotheses": MOST_HYPOTHESES, "tokens": MOST_TOKENS},
    )


def _answer_problems(app: FastAPI) -> None:
    def told(
        status: int,
        error: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JSONResponse:
        problem = Problem(error=error, where=where, hint=hint)
        return JSONResponse(problem.model_dump(), status, headers)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        return told(error.status_code, f"{error.detail}.".replace("..", "."), headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def form(request: Request, error: RequestValidationError) -> JSONResponse:
        # Without what was sent: it may be long, and no text.
        first = error.errors()[0]
        return told(422, first["msg"], where=".".join(map(str, first["loc"])))

    @app.exception_handler(ConfigError)
    async def setting(request: Request, error: ConfigError) -> JSONResponse:
        return told(422, error.message, where=error.where, hint=error.hint)

    @app.exception_handler(FullError)
    async def full(request: Request, error: FullError) -> JSONResponse:
        return told(
            503,
            "Too many documents wait already.",
            hint="try again in a while",
            headers={"Retry-After": str(_RETRY_SECONDS)},
        )

    @app.exception_handler(_GoneError)
    async def gone(request: Request, error: _GoneError) -> JSONResponse:
        return told(499, "The request was given up.")

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> JSONResponse:
        return told(500, "This is a fault of pgsum's.", hint="what it says on stderr is to report")
