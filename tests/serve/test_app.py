"""What the API takes and answers, and what every answer bears."""

import json
import re

import pytest
from reference.command_line import save_tiny_model
from starlette.testclient import TestClient

import pgsum as package
from pgsum.explain.content import Explained, to_object
from pgsum.serve.app import create_app
from pgsum.summarizer import Summarizer

TEXT = "The cat sat on the mat near Oslo, and a dog ran home."
ORIGIN = "http://localhost"


@pytest.fixture
def client(summarizer):
    with TestClient(create_app({"tiny": summarizer}), base_url=ORIGIN) as client:
        yield client


def ask(client, **body):
    return client.post("/api/summarize", json=body)


def test_a_summary_has_the_fields_of_the_command(client, pgsum, tiny_model, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text(TEXT, encoding="utf-8")
    done = pgsum("summarize", file, "--jsonl", "--model", tiny_model, "--n-best", "2")
    of_command = json.loads(done.out)
    answer = ask(client, document=TEXT, n_best=2).json()
    assert answer["model"] == "tiny"
    [of_server] = answer["summaries"]
    assert of_server.pop("id") == "1"
    assert of_server.pop("unfamiliar") is False
    assert of_command.pop("id") == str(file)
    assert of_server == of_command


def test_many_documents_are_answered_in_their_order(client, summarizer):
    documents = ["The cat sat.", TEXT, "Home."]
    answer = ask(client, document=documents).json()
    assert [each["id"] for each in answer["summaries"]] == ["1", "2", "3"]
    assert [each["summary"] for each in answer["summaries"]] == [
        summarizer(document).text for document in documents
    ]


@pytest.mark.parametrize(
    "setting",
    [
        {"beam_size": 1},
        {"max_tokens": 2},
        {"min_tokens": 6},
        {"length_alpha": 0.0},
        {"no_repeat_ngram": 0},
        {"copy_bias": 5},
        {"faithful": True},
    ],
    ids=str,
)
def test_a_setting_means_what_it_means_in_the_command(client, pgsum, tiny_model, tmp_path, setting):
    file = tmp_path / "a.txt"
    file.write_text(TEXT, encoding="utf-8")
    [(name, value)] = setting.items()
    change = ["--set", f"decode.{name}={str(value).lower()}"]
    done = pgsum("summarize", file, "--jsonl", "--model", tiny_model, *change)
    [of_server] = ask(client, document=TEXT, **setting).json()["summaries"]
    assert of_server["tokens"] == json.loads(done.out)["tokens"]
    assert of_server["score"] == json.loads(done.out)["score"]


def test_an_explanation_is_that_of_the_command_as_data_and_as_a_page(client, summarizer):
    [told] = ask(client, document=TEXT, explain=True).json()["summaries"]
    expected = to_object(Explained("1", summarizer(TEXT)))
    assert told["explanation"] == json.loads(json.dumps(expected))
    assert told["page"].startswith("<!doctype html>")
    assert "<title>Summary by tiny</title>" in told["page"]
    assert not ask(client, document=TEXT).json()["summaries"][0].keys() & {"explanation", "page"}


def test_the_model_that_is_named_answers_and_else_the_first(summarizer, tmp_path):
    other = Summarizer.load(save_tiny_model(tmp_path / "m", max_source_tokens=3))
    app = create_app({"one": summarizer, "two": other})
    with TestClient(app, base_url=ORIGIN) as client:
        read = {
            name: len(
                ask(client, document=TEXT, model=name).json()["summaries"][0]["source_tokens"]
            )
            for name in (None, "one", "two")
        }
        assert read == {None: 15, "one": 15, "two": 3}
        info = client.get("/api/info").json()
        assert [model["name"] for model in info["models"]] == ["one", "two"]
        assert info["pgsum"] == package.__version__
        refused = ask(client, document=TEXT, model="three")
        assert (refused.status_code, refused.json()["hint"]) == (422, "one of one, two")


@pytest.mark.parametrize(
    ("body", "where", "words"),
    [
        ({}, "body.document", "required"),
        ({"document": TEXT, "beam": 3}, "body.beam", "not permitted"),
        ({"document": TEXT, "beam_size": 17}, "body.beam_size", "less than or equal to 16"),
        ({"document": TEXT, "beam_size": "3"}, "body.beam_size", "valid integer"),
        ({"document": TEXT, "max_tokens": 501}, "body.max_tokens", "less than or equal to 500"),
        ({"document": TEXT, "min_tokens": 9, "max_tokens": 3}, "decode.min_tokens", "not exceed"),
        ({"document": TEXT, "n_best": 4, "beam_size": 2}, "decode.n_best", "not exceed"),
        ({"document": [TEXT] * 33}, "body.document", "at most 32"),
        ({"document": []}, "body.document", "at least 1"),
    ],
)
def test_what_cannot_be_used_is_said_and_where(client, body, where, words):
    refused = ask(client, **body)
    assert refused.status_code == 422
    assert refused.json()["where"].startswith(where)
    assert words in refused.json()["error"]


@pytest.mark.fault(1)
@pytest.mark.parametrize("text", ["", " \n", "\u200b", "\x1b[31m"], ids=ascii)
def test_an_empty_document_is_refused_before_others_are_kept_waiting(client, text):
    refused = ask(client, document=[TEXT, text])
    assert refused.status_code == 422
    assert refused.json()["where"].endswith("1")
    assert ask(client, document=TEXT).status_code == 200


@pytest.mark.fault(11)
def test_half_a_character_is_replaced(client):
    body = b'{"document": "The \\ud800 cat sat.", "explain": true}'
    answer = client.post(
        "/api/summarize", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 200
    assert answer.json()["summaries"][0]["explanation"]["document"] == "The \ufffd cat sat."


@pytest.mark.fault(49)
@pytest.mark.parametrize(
    "body", [b"{", b"", b"[" * 100_000, b"\xff{}", b'"text"', b'{"document": NaN}'], ids=len
)
def test_what_is_no_json_is_refused_without_being_repeated(client, body):
    headers = {"content-type": "application/json"}
    refused = client.post("/api/summarize", content=body, headers=headers)
    assert refused.status_code in (400, 422)
    assert refused.json().keys() == {"error", "where", "hint"}
    assert len(refused.content) < 300


@pytest.mark.fault(49)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_another_method_is_not_allowed(client, method):
    refused = client.request(method, "/api/summarize")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "POST"


@pytest.mark.fault(49)
@pytest.mark.parametrize(
    "host",
    ["evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "", "a@localhost", "local host"],
)
def test_under_another_name_nothing_is_answered(client, host):
    for path in ("/", "/api/health", "/api/openapi.json"):
        assert client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:8765"])
def test_by_its_name_and_its_numbers_it_is_found(client, host):
    assert client.get("/api/health", headers={"host": host}).json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1234"}, 403),
        ({"origin": "http://localhost"}, 200),
        ({}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
    ids=str,
)
def test_another_site_cannot_ask(client, headers, status):
    content = json.dumps({"document": TEXT})
    sent = {"content-type": "application/json", **headers}
    assert client.post("/api/summarize", content=content, headers=sent).status_code == status


def test_every_answer_forbids_what_it_does_not_need(client):
    answers = [client.get(path) for path in ("/", "/api/info", "/nowhere")]
    answers += [ask(client), client.get("/", headers={"host": "evil.com"})]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 422, 400]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers
    _, *others = (answer.headers["content-security-policy"] for answer in answers)
    assert all("default-src 'none'" in policy for policy in others)
    [of_page] = re.findall(r'Policy" content="([^"]+)"', answers[0].text)
    assert "default-src 'none'" in of_page
    assert "connect-src 'self'" in of_page


def test_a_fault_is_told_without_what_was_sent(summarizer, monkeypatch):
    def summarize(documents, **settings):
        raise RuntimeError(documents[0])

    monkeypatch.setattr(summarizer, "summarize", summarize)
    app = create_app({"tiny": summarizer})
    with TestClient(app, base_url=ORIGIN, raise_server_exceptions=False) as client:
        broken = ask(client, document="secret words")
        assert broken.status_code == 500
        assert "secret" not in broken.text
        assert "x-frame-options" in broken.headers
        assert client.get("/api/health").status_code == 200


def test_there_are_no_pages_that_load_from_elsewhere(client):
    assert [client.get(path).status_code for path in ("/docs", "/redoc")] == [404, 404]
    assert client.get("/api/openapi.json").json()["openapi"].startswith("3.")
