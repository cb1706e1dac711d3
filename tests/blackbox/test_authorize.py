"""/v1/authorize as a proxy uses it: the answer is the status."""

import pytest

POLICIES = """
policies:
  - id: web
    resource: /web
    limits: [{ name: per-ip, per: [ip], rate: 2/h }]
  - id: api
    resource: /api
    limits: [{ name: per-user, per: [user], rate: 2/h }]
  - id: search
    resource: /search
    limits: [{ name: all, per: [resource], rate: 2/h }]
"""


@pytest.fixture
def client(server, http):
    return http(server(POLICIES, args=["--drain-notice-ms", "0"]))


def statuses(client, count, path, headers=None, method="GET"):
    return [client.request(method, path, headers=headers).status for _ in range(count)]


def test_allows_then_denies(client):
    path = "/v1/authorize?policy_id=api&key=u%201"
    allowed = client.get(path)
    assert allowed.status == 200
    assert allowed.json["remaining"] == 1
    assert allowed.headers["x-ratelimit-remaining"] == "1"
    client.get(path)
    denied = client.get(path)
    assert denied.status == 429
    assert denied.headers["content-type"] == "application/problem+json"
    assert denied.json["type"] == "https://iana.org/assignments/http-problem-types#quota-exceeded"
    assert denied.json["violated-policies"] == ["per-user"]
    assert int(denied.headers["retry-after"]) * 1000 >= denied.json["retry_after_ms"]
    assert denied.headers["ratelimit"].startswith('"per-user";r=0;t=')


def test_a_proxy_may_do_without_the_body(client):
    path = "/v1/authorize?policy_id=api&user=u"
    answers = [client.get(path, {"Prefer": "return=minimal"}) for _ in range(3)]
    assert [answer.status for answer in answers] == [204, 204, 429], "on one connection"
    assert answers[0].body == b"" and answers[0].headers["x-ratelimit-remaining"] == "1"
    assert answers[2].json["violated-policies"] == ["per-user"]


def test_the_query_wins_by_whichever_name(server, http):
    client = http(server("policies: [{ id: p, tenant: t, resource: /r, limits: [{ name: n, per: [tenant], rate: 1/d }] }]"))
    headers = {"X-Sluice-Tenant": "other", "X-Forwarded-Uri": "/other"}
    queries = ["tenant_id=t&resource=/r", "tenant=t&resource=/r", "tenant=t&route=/r", "tenant_id=t&route=/r"]
    assert [client.get(f"/v1/authorize?{query}&key=u", headers).status for query in queries] == [200, 429, 429, 429]
    assert client.get("/v1/authorize?tenant=t&tenant_id=other&resource=/r").status == 400


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "HEAD"])
def test_takes_whatever_method_the_proxy_forwards(client, method):
    assert statuses(client, 3, f"/v1/authorize?policy_id=api&user={method}", method=method) == [200, 200, 429]


def test_the_status_of_a_denial_is_a_choice(server, http):
    client = http(server(POLICIES, args=["--deny-status", "403"]))
    assert statuses(client, 3, "/v1/authorize?policy_id=api&user=u") == [200, 200, 403]


def test_headers_are_dimensions(client):
    assert statuses(client, 3, "/v1/authorize", {"X-Sluice-Policy": "api", "X-Sluice-User": "u"}) == [200, 200, 429]
    assert statuses(client, 1, "/v1/authorize", {"X-Sluice-Policy": "api", "X-Sluice-User": "v"}) == [200]


def test_the_client_address_comes_from_the_trusted_proxy(client):
    path = "/v1/authorize?policy_id=web"
    assert statuses(client, 2, path, {"X-Forwarded-For": "203.0.113.9"}) == [200, 200]
    assert statuses(client, 1, path, {"X-Forwarded-For": "198.51.100.1, 203.0.113.9:4711"}) == [429], \
        "what a client adds on the left changes nothing"
    assert statuses(client, 1, path, {"X-Forwarded-For": "203.0.113.10"}) == [200]


def test_nobody_else_may_forward(server, http):
    client = http(server(POLICIES, args=["--trusted-proxies", "192.0.2.0/24"]))
    path = "/v1/authorize?policy_id=web"
    answers = [client.get(path, {"X-Forwarded-For": f"203.0.113.{i}"}).status for i in range(3)]
    assert answers == [200, 200, 429], "the peer itself is the client"


def test_our_headers_count_only_from_a_trusted_proxy(server, http):
    client = http(server(POLICIES, args=["--trusted-proxies", "192.0.2.0/24"]))
    answers = [client.get("/v1/authorize?policy_id=api&user=u", {"X-Sluice-Cost": "0"}).status for _ in range(3)]
    assert answers == [200, 200, 429], "a client cannot choose its cost"
    stranger = client.get("/v1/authorize?policy_id=api", {"X-Sluice-User": "u"})
    assert stranger.json["reason"] == "no_limit", "nor whose limit it uses up"


@pytest.mark.parametrize("first, second", [("X-Sluice-User", "x-sluice-user"), ("X-Sluice-Api-Key", "X-Sluice-Api_Key"),
                                           ("X-Sluice-Tokens", "X-Sluice-Cost")])
def test_a_header_beside_the_proxys_own_is_refused(client, first, second):
    answer = client.get("/v1/authorize?policy_id=api&user=u", {first: "1", second: "2"})
    assert answer.status == 400
    assert answer.json["field"] == second.lower()


@pytest.mark.parametrize("forwarded_for", ["unknown", "203.0.113.9, nonsense", "203.0.113.9,"])
def test_garbage_does_not_escape_a_limit_per_address(client, forwarded_for):
    path = "/v1/authorize?policy_id=web"
    assert statuses(client, 3, path, {"X-Forwarded-For": forwarded_for}) == [200, 200, 429]


def test_two_forwarded_paths_that_differ_are_refused(client):
    answer = client.get("/v1/authorize", {"X-Forwarded-Uri": "/other", "X-Original-URI": "/search"})
    assert (answer.status, answer.json["field"]) == (400, "resource")


@pytest.mark.parametrize("header", ["X-Forwarded-Uri", "X-Original-URI"])
def test_the_forwarded_path_is_the_resource(client, header):
    assert statuses(client, 2, "/v1/authorize", {header: "/search?q=a"}) == [200, 200]
    assert statuses(client, 1, "/v1/authorize", {header: "/%73earch"}) == [429], "no way around it by encoding"
    assert statuses(client, 1, "/v1/authorize", {header: "//x/../search"}) == [429], "nor by a detour"
    assert statuses(client, 1, "/v1/authorize", {header: "/other"}) == [200]


@pytest.mark.parametrize("query", ["policy_id=api&user=%", "policy_id=api&user=%zz", "policy_id=api&user=a&user=b",
                                   "policy_id=api&user=a&tokens=x", "policy_id=nobody&user=a"])
def test_a_bad_query_is_refused(client, query):
    answer = client.get(f"/v1/authorize?{query}")
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/problem+json"
