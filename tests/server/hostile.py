"""The table of hostile and mistaken requests: what is sent, and what the server says to it.

`…` in a message stands for any text. A row sends bytes as they are, or a JSON body to a path.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

CLOSED = 0
"""In place of a status: the connection is closed without a word."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request."""

    what: str
    shown: str
    """The request in the documentation."""
    sent: bytes
    status: int
    message: str
    """A part of what is said."""


def head(first: str, *headers: str, host: str = "localhost", body: bytes = b"") -> bytes:
    """A request's bytes, which asks the server to close afterwards."""
    lines = [first, f"Host: {host}", "Connection: close", *headers]
    if body and not any(line.lower().startswith(("content-length", "transfer")) for line in lines):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def post(path: str, body: object) -> bytes:
    """A JSON request; bytes are sent as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(f"POST {path} HTTP/1.1", body=data)


def bad_field(what: str, path: str, body: dict[str, object], message: str) -> Row:
    """A body that is refused with 400."""
    shown = json.dumps(body, separators=(",", ":"))
    shown = shown if len(shown) < 64 else shown[:60] + "…"
    return Row(what, f"POST {path} `{shown}`", post(path, body), 400, message)


INFILL = {"input_prefix": "a", "input_suffix": "b"}
ASK = {"messages": [{"role": "user", "content": "x"}]}
HEADERS = [
    Row("no HTTP at all", "`hello`", b"hello\r\n\r\n", 400, "Invalid HTTP request"),
    Row("TLS to a plain port", "a ClientHello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9,
        400, "Invalid HTTP request"),
    Row("no Host header", "GET /health without Host", b"GET /health HTTP/1.1\r\n\r\n", 400,
        "Invalid HTTP request"),
    Row("a name that was made to resolve to this machine", "GET /props, Host: evil.example",
        head("GET /props HTTP/1.1", host="evil.example"), 403, "which is not this machine"),
    Row("such a name that begins like this machine", "GET /props, Host: localhost.evil.example",
        head("GET /props HTTP/1.1", host="localhost.evil.example"), 403,
        "which is not this machine"),
    Row("such a name with a port", "GET /props, Host: evil.example:8012",
        head("GET /props HTTP/1.1", host="evil.example:8012"), 403, "which is not this machine"),
    Row("a page from elsewhere", "POST /completion, Origin: https://evil.example",
        head("POST /completion HTTP/1.1", "Origin: https://evil.example", body=b'{"prompt":"x"}'),
        403, "may not use this server"),
    Row("a page without an origin", "POST /completion, Origin: null",
        head("POST /completion HTTP/1.1", "Origin: null", body=b'{"prompt":"x"}'), 403,
        "may not use this server"),
    Row("a preflight from elsewhere", "OPTIONS /completion, Origin: https://evil.example",
        head("OPTIONS /completion HTTP/1.1", "Origin: https://evil.example"), 403,
        "may not use this server"),
    Row("a header of 100 KB", "GET /health with a long header",
        head("GET /health HTTP/1.1", "X-Long: " + "x" * 100_000), 431,
        "the headers are longer than 65,536 bytes"),
    Row("5,000 headers", "GET /health with many headers",
        head("GET /health HTTP/1.1", *(f"X-{n}: {n}xxxxxxxxxxxx" for n in range(5000))), 431,
        "the headers are longer than 65,536 bytes"),
    Row("two lengths that differ", "POST /completion, Content-Length: 2 and 3",
        head("POST /completion HTTP/1.1", "Content-Length: 2", "Content-Length: 3", body=b"{}"),
        400, "Invalid HTTP request"),
    Row("a length and chunks", "POST /completion, both",
        head("POST /completion HTTP/1.1", "Content-Length: 2", "Transfer-Encoding: chunked",
             body=b"0\r\n\r\n"), 400, "no valid JSON"),
    Row("a negative length", "POST /completion, Content-Length: -1",
        head("POST /completion HTTP/1.1", "Content-Length: -1", body=b"{}"), 400,
        "Invalid HTTP request"),
    Row("a body of 2 GB, announced", "POST /completion, Content-Length: 2147483648",
        head("POST /completion HTTP/1.1", "Content-Length: 2147483648", body=b"{"), 413,
        "longer than 8,388,608 bytes"),
    Row("an unknown transfer coding", "POST /completion, Transfer-Encoding: gzip",
        head("POST /completion HTTP/1.1", "Transfer-Encoding: gzip", body=b"{}"), 400,
        "Invalid HTTP request"),
]  # fmt: skip
PATHS = [
    Row("an unknown path", "GET /nope", head("GET /nope HTTP/1.1"), 404, "there is no such path"),
    Row("a way up", "GET /../../etc/passwd", head("GET /../../etc/passwd HTTP/1.1"), 404,
        "there is no such path"),
    Row("a way up in a run's id", "GET /v1/runs/..%2f..%2fetc%2fpasswd",
        head("GET /v1/runs/..%2f..%2fetc%2fpasswd HTTP/1.1"), 404, "there is no such path"),
    Row("a run's id that is a file name", "GET /v1/runs/%2e%2e",
        head("GET /v1/runs/%2e%2e HTTP/1.1"),
        400, "digits, letters and dashes"),
    Row("a run that is not there", "GET /v1/runs/20200101-000000-000000",
        head("GET /v1/runs/20200101-000000-000000 HTTP/1.1"), 404, "20200101"),
    Row("a NUL in the path", "GET /v1/runs/%00", head("GET /v1/runs/%00 HTTP/1.1"), 400,
        "digits, letters and dashes"),
    Row("the wrong method", "GET /completion", head("GET /completion HTTP/1.1"), 405,
        "GET is not allowed here"),
    Row("another site's address", "GET http://evil.example/health",
        head("GET http://evil.example/health HTTP/1.1", host="evil.example"), 403,
        "which is not this machine"),
    Row("a tunnel", "CONNECT evil.example:443", head("CONNECT evil.example:443 HTTP/1.1"), 404,
        "there is no such path"),
]  # fmt: skip
BODIES = [
    Row("no body", "POST /completion", head("POST /completion HTTP/1.1"), 400, "no valid JSON"),
    Row("half of a body", 'POST /completion `{"prompt": `', post("/completion", b'{"prompt": '),
        400, "no valid JSON"),
    Row("an array", "POST /completion `[1]`", post("/completion", b"[1]"), 400,
        "must be a JSON object, but is an array"),
    Row("bytes that are no UTF-8", "POST /completion with a byte ff",
        post("/completion", b'{"prompt": "\xff"}'), 400, "no valid JSON"),
    Row("half of a surrogate pair", r'POST /completion `{"prompt": "\ud800"}`',
        post("/completion", b'{"prompt": "\\ud800"}'), 400, "no valid JSON"),
    Row("JSON nested 100,000 deep", "POST /completion `[[[[…`",
        post("/completion", b'{"prompt": ' + b"[" * 100_000), 400, "no valid JSON"),
    Row("JSON nested 900 deep", "POST /completion `[[[[…`",
        post("/completion", b'{"prompt": ' + b"[" * 900 + b"]" * 900 + b"}"), 400,
        "token ids"),
    Row("a number of 400 digits", 'POST /completion `{"n_predict": 1000…}`',
        post("/completion", b'{"prompt": "x", "n_predict": 1' + b"0" * 400 + b"}"), 400, ""),
    Row("NaN", 'POST /completion `{"temperature": NaN}`',
        post("/completion", b'{"prompt": "x", "temperature": NaN}'), 400, "no valid JSON"),
    bad_field("no prompt", "/completion", {"n_predict": 4}, "'prompt' is required"),
    bad_field("an empty prompt", "/completion", {"prompt": ""}, "the prompt is empty"),
    bad_field("a prompt that is none", "/completion", {"prompt": {"a": 1}}, "'prompt' must be"),
    bad_field("a token that is none", "/completion", {"prompt": [99999999]},
              "token 99999999 is outside 0"),
    bad_field("a negative token", "/completion", {"prompt": [-1]}, "token ids"),
    bad_field("a token of two words", "/detokenize", {"tokens": ["a b"]}, "token ids"),
    bad_field("a token that the model lacks", "/detokenize", {"tokens": [99999999]},
              "token 99999999 is outside 0"),
    bad_field("100 prompts", "/completion", {"prompt": ["x"] * 100}, "send up to 16"),
    bad_field("more text than the context holds", "/completion", {"prompt": "x" * 9000},
              "the context holds 2048"),
    bad_field("no prefix", "/infill", {"input_suffix": "b"}, "'input_prefix' is required"),
    bad_field("no suffix", "/infill", {"input_prefix": "a"}, "'input_suffix' is required"),
    bad_field("a number as text", "/completion", {"prompt": "x", "n_predict": "many"},
              "'n_predict' must be a number, but is a string"),
    bad_field("half a token", "/completion", {"prompt": "x", "n_predict": 1.5},
              "'n_predict' must be a whole number"),
    bad_field("a hot temperature", "/completion", {"prompt": "x", "temperature": 1e9},
              "'temperature' must be"),
    bad_field("100 choices", "/infill", {**INFILL, "n_cmpl": 100}, "1 <= value <= 16, but got 100"),
    bad_field("100 stop strings", "/completion", {"prompt": "x", "stop": ["y"] * 100},
              "send up to 64"),
    bad_field("a stop that is none", "/completion", {"prompt": "x", "stop": [1]},
              "'stop' must hold strings"),
    bad_field("a grammar", "/completion", {"prompt": "x", "grammar": "root ::= x"},
              "'grammar' is not supported"),
    bad_field("a penalty", "/completion", {"prompt": "x", "repeat_penalty": 1.2},
              "'repeat_penalty' is not supported"),
    bad_field("no messages", "/v1/chat/completions", {"messages": []}, "'messages' is required"),
    bad_field("a message that is none", "/v1/chat/completions", {"messages": ["hi"]},
              "'messages[0]' must be an object"),
    bad_field("an image", "/v1/chat/completions",
              {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "'image_url'"),
    bad_field("tools", "/v1/chat/completions", {**ASK, "tools": [{}]}, "'tools' is not supported"),
    bad_field("a schema that cannot be followed", "/v1/chat/completions",
              {**ASK, "response_format": {"type": "json_schema", "json_schema":
                                          {"schema": {"type": "wish"}}}},
              "the JSON schema cannot be followed"),
    bad_field("an empty instruction", "/v1/edits", {"instruction": " ", "text": "x"},
              "'instruction' is empty"),
    bad_field("a binary file", "/v1/edits", {"instruction": "x", "text": "a\0b"}, "looks binary"),
    bad_field("a language that breaks the prompt", "/v1/edits",
              {"instruction": "x", "text": "x", "language": "py\n```"}, "one word"),
]  # fmt: skip
TABLES = {"Headers": HEADERS, "Paths": PATHS, "Bodies": BODIES}


def page() -> str:
    """The page of the documentation."""
    lines = [
        "# Hostile and mistaken requests",
        "",
        "What `redraft serve` answers to each. Each row is a test over a real socket"
        " (`tests/server/test_server_hostile.py`),",
        "and this page is made from the same table by `make docs`. After all of them the server"
        " still answers.",
    ]
    for title, rows in TABLES.items():
        lines += ["", f"## {title}", "", "| request | sent | status | said |", "|---|---|---|---|"]
        for row in rows:
            cells = (
                row.what,
                row.shown,
                str(row.status),
                f"…{row.message}…" if row.message else "…",
            )
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
