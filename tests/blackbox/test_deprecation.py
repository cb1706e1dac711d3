"""Paths that the operator has marked as deprecated: headers for callers, a counter for the operator."""

import email.utils
import re
import subprocess

import pytest

from harness.server import binary

CHECK = {"tenant_id": "t", "resource": "/r", "key": "k"}
HEADERS = ("deprecation", "sunset", "link")


def told(answer):
    return tuple(answer.headers.get(name) for name in HEADERS)


def test_answers_say_it_and_calls_are_counted(admin):
    client = admin(args=["--deprecate", "/v1/rules=2026-11-01..2027-05-01,/v1/ratelimit=2026-10-01",
                         "--deprecation-link", "https://example.com/moving"])
    link = '<https://example.com/moving>; rel="deprecation"'
    leaving = ("@1793491200", "Sat, 01 May 2027 00:00:00 GMT", link)
    for answer in [client.get("/v1/rules"), client.get("/v1/rules/shop"), client.request("PATCH", "/v1/rules"),
                   client.post("/v1/rules", {})]:  # whatever is said besides
        assert told(answer) == leaving, answer
    assert email.utils.parsedate_to_datetime(leaving[1]).isoformat() == "2027-05-01T00:00:00+00:00"
    assert told(client.post("/v1/ratelimit/check", CHECK)) == ("@1790812800", None, link)
    assert told(client.get("/v1/policies")) == (None, None, None)
    page = client.get("/metrics").body.decode()
    assert re.findall(r"^rate_limiter_deprecated_calls_total.*", page, re.M) == [
        'rate_limiter_deprecated_calls_total{path="/v1/ratelimit"} 1',
        'rate_limiter_deprecated_calls_total{path="/v1/rules"} 4']


def test_without_a_date_it_is_since_the_start(server, http, tmp_path):
    config = tmp_path / "sluice.yaml"
    config.write_text("deprecate: /v1/authorize\n")
    client = http(server(args=["--config", str(config)]))
    since, sunset, link = told(client.get("/v1/authorize?policy_id=none"))
    date = email.utils.parsedate_to_datetime(client.get("/healthz").headers["date"]).timestamp()
    assert date - 3600 < int(since.removeprefix("@")) <= date
    assert (sunset, link) == (None, '</openapi.yaml>; rel="deprecation"')


def test_none_by_default(server, http):
    client = http(server())
    assert told(client.post("/v1/ratelimit/check", CHECK)) == (None, None, None)
    assert b"deprecated_calls" not in client.get("/metrics").body


@pytest.mark.parametrize("args, sentence", [
    (["--deprecate", "/v1/rulse"], 'the API has no path "/v1/rulse"'),
    (["--deprecate", "v1"], '"v1" is not a path'),
    (["--deprecate", "/v1=tomorrow"], '"tomorrow" is not a date'),
    (["--deprecate", "/v1=2027-01-02..2027-01-01"], "has a sunset before its deprecation"),
    (["--deprecate", "/v1", "--deprecation-link", "a b"], "the link must be a URL or a path"),
])
def test_bad_values_are_refused_at_the_start(args, sentence, tmp_path):
    run = subprocess.run([binary(), "serve", "--listen", "127.0.0.1:0", *args], cwd=tmp_path, timeout=60,
                         capture_output=True, text=True)
    assert run.returncode == 2
    last = run.stderr.splitlines()[-1]
    assert "--deprecate: " in last and sentence in last, run.stderr
