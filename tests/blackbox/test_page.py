"""The dashboard's files and its login, as a browser's requests see them. What is on the page: tests/web."""

import gzip

from harness.admin import bearer, expect, expect_problem, sqlite

OURS = {"X-Requested-With": "sluice-dashboard"}
FILES = {"/": "text/html; charset=utf-8", "/dashboard.js": "text/javascript; charset=utf-8",
         "/dashboard.css": "text/css; charset=utf-8", "/dashboard.svg": "image/svg+xml"}


def guarded(server, http, tmp_path):
    """A server that wants tokens: its connection, and the secret of a reader's token."""
    open_one = server(args=sqlite(tmp_path))
    client = http(open_one)
    token = expect(client.request("POST", "/v1/tokens", {"name": "r", "roles": ["read"]}), 201)["token"]
    assert open_one.stop() == 0
    return http(server(args=[*sqlite(tmp_path), "--require-token"])), token


def test_its_files_may_be_cached_and_load_nothing_from_elsewhere(server, http):
    client = http(server())
    for path, kind in FILES.items():
        answer = client.get(path)
        assert (answer.status, answer.headers["content-type"]) == (200, kind)
        rules = answer.headers["content-security-policy"]
        assert "default-src 'none'" in rules and "unsafe" not in rules and "frame-ancestors 'none'" in rules
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = client.get(path, {"If-None-Match": answer.headers["etag"]})
        assert (again.status, again.body) == (304, b"")
    packed = client.get("/dashboard.js", {"Accept-Encoding": "gzip, br"})
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == client.get("/dashboard.js").body
    assert len(packed.body) < 60_000


def test_on_this_machine_nobody_logs_in(server, http):
    session = expect(http(server()).get("/v1/session"), 200)
    assert session == {"name": "loopback", "roles": ["admin"], "tenants": [], "has_checks": True}


def test_a_login_is_a_cookie_that_only_our_page_can_use(server, http, tmp_path):
    client, token = guarded(server, http, tmp_path)
    expect_problem(client.get("/v1/session", OURS), 401, "authorization")
    expect_problem(client.request("POST", "/v1/login", headers=bearer("sluice_wrong")), 401, "authorization")
    expect_problem(client.request("POST", "/v1/login"), 401, "authorization")
    answer = client.request("POST", "/v1/login", headers=bearer(token))
    assert expect(answer, 200)["name"] == "token r"
    cookie = answer.headers["set-cookie"]
    assert "; HttpOnly" in cookie and "; SameSite=Strict" in cookie and "Secure" not in cookie
    cookie = {"Cookie": "a=b; " + cookie.split(";")[0]}

    assert expect(client.get("/v1/session", {**cookie, **OURS}), 200)["roles"] == ["read"]
    expect(client.get("/v1/policies", {**cookie, **OURS}), 200)
    expect(client.get("/v1/hotkeys", {**cookie, **OURS}), 200)
    # A browser adds the cookie to every request; our header, only our page adds.
    for path in ("/v1/session", "/v1/policies", "/v1/hotkeys"):
        expect_problem(client.get(path, cookie), 401, "authorization")
        expect_problem(client.get(path, {**cookie, **OURS, "Origin": "https://evil.example"}), 401, "authorization")
        expect_problem(client.get(path, {**cookie, **OURS, "Sec-Fetch-Site": "same-site"}), 401, "authorization")
    # The role stays that of the token, and a header counts before the cookie.
    expect_problem(client.request("PUT", "/v1/switch", {"mode": "open"}, {**cookie, **OURS}), 403)
    expect_problem(client.get("/v1/session", {**cookie, **OURS, **bearer("sluice_wrong")}), 401, "authorization")


def test_over_tls_the_cookie_is_secure_and_another_site_cannot_log_in(server, http, tmp_path):
    client, token = guarded(server, http, tmp_path)
    secure = client.request("POST", "/v1/login", headers={
        **bearer(token), "Host": "sluice.shop", "Origin": "https://sluice.shop"})
    assert secure.headers["set-cookie"].endswith("; Secure")
    for path in ("/v1/login", "/v1/logout"):
        expect_problem(client.request("POST", path, headers={**bearer(token), "Origin": "https://evil.example"}), 403)
    ended = client.request("POST", "/v1/logout")
    assert ended.status == 200 and "Max-Age=0" in ended.headers["set-cookie"]


def test_a_deleted_token_ends_the_login(server, http, tmp_path):
    client, token = guarded(server, http, tmp_path)
    cookie = {"Cookie": f"sluice_session={token}", **OURS}
    expect(client.get("/v1/session", cookie), 200)
    other = http(server(args=sqlite(tmp_path)))
    expect(other.request("DELETE", "/v1/tokens/r"), 204)
    third = http(server(args=[*sqlite(tmp_path), "--require-token"]))
    expect_problem(third.get("/v1/session", cookie), 401, "authorization")


def test_with_an_admin_port_it_is_only_there(server, tool, tmp_path):
    one = server(args=[*sqlite(tmp_path), "--admin-listen", "127.0.0.1:0"])
    admin = one.wait_for_log(r"admin API on (\S+:\d+)")[1]
    for path in (*FILES, "/v1/session"):
        for address, status in ((one.address, "404"), (admin, "200")):
            assert tool("curl", "-s", "-o", tmp_path / "file", "-w", "%{http_code}", f"http://{address}{path}").stdout == status
    assert '"has_checks":false' in tool("curl", "-s", f"http://{admin}/v1/session").stdout
