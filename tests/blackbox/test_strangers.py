"""What strangers can do and learn: web pages of other sites, and callers without a token."""

from harness.admin import sqlite

POLICIES = """
policies:
  - id: secret-plan
    tenant: shop
    limits: [{ name: ten, per: [key], rate: 10/h }]
  - id: p
    limits: [{ name: ten, per: [key], rate: 10/h }]
"""
CHECK = {"policy_id": "p", "key": "k"}
PAGE = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Content-Type": "text/plain"}


def test_a_page_of_another_site_uses_up_nothing(server, http):
    client = http(server(POLICIES, args=["--drain-notice-ms", "0"]))
    for _ in range(12):
        assert client.post("/v1/ratelimit/check", CHECK, PAGE).status == 403
        assert client.get("/v1/authorize?policy_id=p&key=k", PAGE).status == 403
    assert client.check(**CHECK)["remaining"] == 9


def test_a_proxy_may_pass_on_what_a_browser_says(server, http):
    client = http(server(POLICIES, args=["--drain-notice-ms", "0"]))
    assert client.get("/v1/authorize?policy_id=p&key=k", {**PAGE, "X-Forwarded-For": "192.0.2.7", "Host": "shop.example"}).status == 200


def test_policies_have_no_names_for_strangers(server, http, tmp_path):
    node = server(POLICIES, args=[*sqlite(tmp_path), "--require-token"])
    root = {"Authorization": "Bearer " + node.wait_for_log(r"(sluice_\w{38})")[1]}
    client = http(node)
    assert client.post("/v1/ratelimit/check", {"policy_id": "secret-plan", "tenant_id": "shop", "key": "k"}, root).status == 200
    assert 'policy="secret-plan"' in client.get("/metrics", root).body.decode()
    page = client.get("/metrics").body.decode()
    assert "secret-plan" not in page and "rate_limiter_buffered_bytes" in page
    made = client.post("/v1/tokens", {"name": "other", "roles": ["check"], "tenants": ["stock"]}, root)
    assert made.status == 201, made
    other = {"Authorization": "Bearer " + made.json["token"]}
    answers = [client.post("/v1/ratelimit/check", {"policy_id": name, "tenant_id": "stock", "key": "k"}, other)
               for name in ("secret-plan", "public-plan")]
    assert answers[0].status == answers[1].status == 400
    assert answers[0].body.replace(b"secret", b"public") == answers[1].body
    assert "secret-plan" not in client.get("/metrics", other).body.decode()


def test_metrics_can_be_open(server, http, tmp_path):
    node = server(POLICIES, args=[*sqlite(tmp_path), "--require-token", "--metrics-open"])
    root = {"Authorization": "Bearer " + node.wait_for_log(r"(sluice_\w{38})")[1]}
    client = http(node)
    assert client.post("/v1/ratelimit/check", {**CHECK, "tenant_id": "shop"}, root).status == 200
    assert 'policy="p"' in client.get("/metrics").body.decode()
