"""Checks as JSON over HTTP/1.1 and HTTP/2, and what operators look at."""

import json

import pytest

POLICIES = """
policies:
  - id: api.read
    tenant: search
    resource: /search
    limits: [{ name: burst, per: [tenant, user], rate: 10/h }]
  - id: never
    resource: /never
    limits: [{ name: closed, per: [key], rate: 0/s }]
  - id: dark
    resource: /dark
    shadow: true
    limits: [{ name: one, per: [key], rate: 1/h }]
"""
SEARCH = {"tenant_id": "search", "resource": "/search", "key": "u1"}


def test_an_answer_has_every_field(server, http):
    answer = http(server(POLICIES)).post("/v1/ratelimit/check", {**SEARCH, "tokens": 4})
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    decision = answer.json
    assert decision.pop("reset_unix_ms") > 1_600_000_000_000
    assert decision == {"allowed": True, "remaining": 6, "retry_after_ms": 0, "limit": 10, "policy_id": "api.read",
                        "policy_version": 1, "limiting": "burst", "state": "normal", "reason": "ok", "degraded": False,
                        "replayed": False}


def test_a_denial_is_200_with_the_wait(server, http):
    client = http(server(POLICIES))
    client.check(**SEARCH, tokens=10)
    answer = client.post("/v1/ratelimit/check", SEARCH)
    assert answer.status == 200
    assert answer.json["allowed"] is False
    assert answer.json["reason"] == "limited"
    assert answer.json["state"] == "throttled"
    wait_ms = answer.json["retry_after_ms"]
    assert 0 < wait_ms <= 360_000
    assert wait_ms / 1000 <= int(answer.headers["retry-after"]) <= 2 * wait_ms / 1000 + 1


def test_headers_tell_where_the_client_stands(server, http):
    answer = http(server(POLICIES)).post("/v1/ratelimit/check", SEARCH)
    assert answer.headers["x-ratelimit-limit"] == "10"
    assert answer.headers["x-ratelimit-remaining"] == "9"
    assert int(answer.headers["x-ratelimit-reset"]) * 1000 >= answer.json["reset_unix_ms"]
    assert answer.headers["x-ratelimit-policy"] == "api.read"
    assert answer.headers["x-ratelimit-scope"] == "tenant,user"
    assert answer.headers["ratelimit-policy"] == '"burst";q=10;w=3600'
    assert answer.headers["ratelimit"] == '"burst";r=9;t=360'


def test_the_dialect_of_headers_is_a_choice(server, http):
    answer = http(server(POLICIES, args=["--headers", "triple,x-delta"])).post("/v1/ratelimit/check", SEARCH)
    assert answer.headers["ratelimit-limit"] == "10"
    assert answer.headers["ratelimit-remaining"] == "9"
    assert answer.headers["ratelimit-reset"] == answer.headers["x-ratelimit-reset"] == "360"
    assert "ratelimit" not in answer.headers


@pytest.mark.parametrize("dialect, state", [("ietf", "throttled"), ("triple", "throttled"), ("none", None)])
def test_the_warning_comes_in_every_dialect_and_retry_after_always(server, http, dialect, state):
    client = http(server(POLICIES, args=["--headers", dialect]))
    client.check(**SEARCH, tokens=10)
    denied = client.post("/v1/ratelimit/check", SEARCH)
    assert denied.headers.get("x-ratelimit-state") == state
    assert int(denied.headers["retry-after"]) > 0


def test_the_next_unit_is_one_interval_away(server, http):
    client = http(server("policies: [{ id: slow, limits: [{ name: two, per: [key], rate: 2/d }] }]\n"))
    answer = client.post("/v1/ratelimit/check", {"policy_id": "slow", "key": "k"})
    assert answer.headers["ratelimit"] == '"two";r=1;t=43200'


def test_namesakes_are_told_apart(server, http):
    client = http(server("""
policies:
  - id: api
    limits: [{ name: burst, per: [key], rate: 10/h }]
  - id: cap
    always: true
    limits: [{ name: burst, per: [tenant], rate: 100/h }]
"""))
    answer = client.post("/v1/ratelimit/check", {"tenant_id": "t", "resource": "/r", "key": "k"})
    assert answer.headers["ratelimit-policy"] == '"api.burst";q=10;w=3600,"cap.burst";q=100;w=3600'
    assert answer.headers["ratelimit"].startswith('"api.burst";r=9;')


def test_a_limit_of_zero_says_so(server, http):
    answer = http(server(POLICIES)).get("/v1/authorize?policy_id=never&key=k")
    assert answer.status == 429
    assert "allows nothing" in answer.json["detail"]


def test_reasons(server, http):
    client = http(server(POLICIES))
    assert client.check(tenant_id="t", resource="/never", key="k")["reason"] == "never"
    nothing = client.check(tenant_id="t", resource="/other", key="k")
    assert (nothing["allowed"], nothing["reason"], nothing["limit"], nothing["remaining"]) == (True, "no_policy", -1, -1)
    assert client.check(tenant_id="t", resource="/dark", key="k")["reason"] == "ok"
    dark = client.check(tenant_id="t", resource="/dark", key="k")
    assert (dark["allowed"], dark["reason"]) == (True, "shadow")
    skipped = client.check(policy_id="api.read")
    assert (skipped["allowed"], skipped["reason"]) == (True, "no_limit")


def test_a_batch_answers_in_order(server, http):
    client = http(server(POLICIES))
    answer = client.post("/v1/ratelimit/check-batch", {"checks": [{**SEARCH, "tokens": 10}, SEARCH, {**SEARCH, "key": "u2"}]})
    assert answer.status == 200
    assert [result["allowed"] for result in answer.json["results"]] == [True, False, True]


def test_json_over_http2(server, tool, tmp_path):
    running = server(POLICIES)
    body = tmp_path / "body.json"
    body.write_text(json.dumps(SEARCH))
    url = f"{running.url}/v1/ratelimit/check"
    curl = tool("curl", "-sS", "--http2-prior-knowledge", "-d", f"@{body}", "-w", "\n%{http_version} %{http_code}", url)
    decision, _, outcome = curl.stdout.rpartition("\n")
    assert outcome == "2 200", curl
    assert json.loads(decision)["remaining"] == 9
    nghttp = tool("nghttp", "-d", body, url)
    assert json.loads(nghttp.stdout)["remaining"] == 8, nghttp


def test_curl_needs_no_content_type(server, tool):
    running = server(POLICIES)
    curl = tool("curl", "-sS", "-d", json.dumps(SEARCH), f"{running.url}/v1/ratelimit/check")
    assert json.loads(curl.stdout)["allowed"] is True, curl


def test_operators_pages(server, http):
    client = http(server(POLICIES))
    assert client.get("/healthz").status == 200
    ready = client.get("/readyz")
    assert (ready.status, ready.json["problems"]) == (200, [])
    client.check(**{**SEARCH, "key": "a-key-of-nobody"})
    metrics = client.get("/metrics")
    assert metrics.status == 200
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"rate_limiter_" in metrics.body
    assert b"a-key-of-nobody" not in metrics.body, "no key may show up in metrics"


def test_what_is_not_there_is_a_problem(server, http):
    client = http(server(POLICIES))
    missing = client.get("/nothing")
    assert missing.status == 404
    assert missing.headers["content-type"] == "application/problem+json"
    assert missing.json["status"] == 404
    wrong = client.get("/v1/ratelimit/check")
    assert (wrong.status, wrong.headers["allow"]) == (405, "POST")
    head = client.request("HEAD", "/healthz")
    assert (head.status, head.body) == (200, b"")
    assert client.get("/healthz").status == 200, "the connection is still good after a HEAD"


def test_h2load_gets_only_answers(server, tool, tmp_path):
    running = server(POLICIES)
    body = tmp_path / "body.json"
    body.write_text(json.dumps(SEARCH))
    load = tool("h2load", "-n", "500", "-c", "4", "-m", "10", "-d", body, f"{running.url}/v1/ratelimit/check")
    assert "500 succeeded, 0 failed, 0 errored" in load.stdout, load.stdout + load.stderr
    assert "status codes: 500 2xx" in load.stdout, load.stdout


def test_json_ends_with_a_newline(server, http, raw, tool):
    """So that a shell's prompt does not stick to it; over HTTP/1.1 and HTTP/2."""
    node = server(POLICIES)
    client = http(node)
    check = {"tenant_id": "t", "resource": "/r", "key": "k"}
    answers = [client.post("/v1/ratelimit/check", check), client.post("/v1/ratelimit/check-batch", {"checks": [check, check]}),
               client.post("/v1/ratelimit/check", {}), client.get("/v1/usage?tenant_id=t&resource=/r&key=k"), client.get("/healthz"),
               client.get("/readyz"), client.get("/v1/policies"), client.get("/nowhere"), client.post("/v1/reset", check),
               client.get("/v1/authorize?tenant_id=t&resource=/r&key=k"), client.get("/v1/hotkeys"), client.get("/v1/switch")]
    for answer in answers:
        assert answer.body.endswith(b"}\n") and not answer.body.endswith(b"\n\n"), answer
        assert int(answer.headers["content-length"]) == len(answer.body)
    for version in ("--http1.1", "--http2-prior-knowledge"):
        assert tool("curl", "-s", version, f"{node.url}/healthz").stdout == '{"status":"ok"}\n'
