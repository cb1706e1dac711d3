"""Certificates of clients and the roles that --identities gives them, over HTTP and gRPC."""

import json
import signal

import grpc
import pytest
from harness.admin import bearer, expect, expect_problem
from harness.cli import fails, works
from harness.rpc import open_secure_channel
from harness.server import binary, wait_until

POLICIES = "policies: [{ id: api, limits: [{ name: hour, per: [key], rate: 100000/h }] }]"
CHECK = {"tenant_id": "shop-1", "resource": "/x", "key": "k"}
IDENTITIES = """
- { name: "spiffe://prod/gateway-*", roles: [check], tenants: ["shop-*"] }
- { name: CN=Ops, roles: [admin] }
- { name: reader.prod, roles: [read] }
"""


@pytest.fixture
def ops(authority):
    return authority.issue("ops", common_name="Ops")


@pytest.fixture
def gateway(authority):
    return authority.issue("gateway", uris=["spiffe://prod/gateway-7"])


@pytest.fixture
def node(tls, authority, write):
    """A factory: a server with identities, on a loopback where everybody needs a name unless told otherwise."""
    def start(*args):
        file = write(IDENTITIES, "identities.yaml")
        return tls("--tls-client-ca", authority.file, "--identities", file, *args, policies=POLICIES)
    return start


def test_a_certificate_has_the_roles_of_its_name(node, https, ops, gateway):
    strict = node("--require-token")
    admin, checker = https(strict, ops), https(strict, gateway)
    policy = {"tenant_id": "shop-1", "resource": "/x", "limit": 7, "window_sec": 60}
    expect(admin.post("/v1/rules", policy), 201)
    assert checker.check(**CHECK)["limit"] == 7
    refused = expect_problem(checker.post("/v1/rules", {**policy, "resource": "/y"}), 403)
    assert refused["detail"].startswith("certificate spiffe://prod/gateway-7 lacks the role")
    refused = expect_problem(checker.post("/v1/ratelimit/check", {**CHECK, "tenant_id": "bank"}), 403)
    assert refused["detail"] == 'certificate spiffe://prod/gateway-7 has no access to tenant "bank"'
    entry, = expect(admin.get("/v1/audit?kind=policy"), 200)["entries"]
    assert (entry["actor"], entry["action"]) == ("certificate CN=Ops", "create")


def test_the_same_over_grpc(node, authority, api, gateway):
    strict = node("--require-token")
    unknown = authority.issue("unknown", uris=["spiffe://test/x"], common_name="X")
    with open_secure_channel(strict.address, authority, gateway) as mine, \
            open_secure_channel(strict.address, authority, unknown) as theirs, \
            open_secure_channel(strict.address, authority) as nobodys:
        stub = api.stub(mine, "sluice.v1.RateLimiter")
        assert stub.CheckAndIncrement(policy_id="api", dimensions={"key": "k", "tenant": "shop-1"}).allowed
        with pytest.raises(grpc.RpcError) as error:
            stub.ResetKey(policy_id="api", dimensions={"key": "k", "tenant": "shop-1"}, reason="test")
        assert error.value.code() == grpc.StatusCode.PERMISSION_DENIED
        for other, sentence in ((theirs, "no identity matches this client's certificate (spiffe://test/x, CN=X)"),
                                (nobodys, "this needs a token")):
            with pytest.raises(grpc.RpcError) as error:
                api.stub(other, "sluice.v1.RateLimiter").CheckAndIncrement(policy_id="api", dimensions={"key": "k"})
            assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
            assert error.value.details().startswith("authorization: " + sentence)


def test_who_is_not_mapped_is_told_the_names(node, https, authority):
    strict = node("--require-token")
    unknown = authority.issue("unknown", hosts=["Unknown.Prod"], common_name="X")
    problem = expect_problem(https(strict, unknown).get("/v1/policies"), 401, "authorization")
    assert "certificate (unknown.prod, CN=X); add one to the --identities file" in problem["detail"]


def test_a_token_wins_over_a_certificate(node, https, ops, gateway):
    strict = node("--require-token")
    token = expect(https(strict, ops).post("/v1/tokens", {"name": "t", "roles": ["read"]}), 201)["token"]
    client = https(strict, gateway)
    expect(client.get("/v1/policies", bearer(token)), 200)
    expect_problem(client.post("/v1/ratelimit/check", CHECK, bearer(token)), 403)
    expect_problem(client.get("/v1/policies"), 403)
    expect_problem(client.get("/v1/policies", bearer("wrong")), 401, "authorization")


def test_on_loopback_a_mapped_certificate_counts_and_others_may_do_all(node, https, authority):
    open_node = node()
    reader = https(open_node, authority.issue("reader", hosts=["reader.prod"]))
    expect(reader.get("/v1/policies"), 200)
    expect_problem(reader.post("/v1/tokens", {"name": "t", "roles": ["read"]}), 403)
    stranger = https(open_node, authority.issue("stranger", hosts=["stranger"]))
    expect(stranger.post("/v1/tokens", {"name": "t", "roles": ["read"]}), 201)
    assert expect(stranger.get("/v1/audit"), 200)["entries"][0]["actor"] == "loopback"


def test_identities_are_reread_and_broken_ones_are_not_taken(node, https, authority, write, ops):
    strict = node("--require-token")
    admin, reader = https(strict, ops), https(strict, authority.issue("reader", hosts=["reader.prod"]))
    expect_problem(reader.post("/v1/switch", {"mode": "open"}), 405)
    expect_problem(reader.request("PUT", "/v1/switch", {"mode": "open"}), 403)
    write(IDENTITIES.replace("read]", "operator]"), "identities.yaml")
    strict.signal(signal.SIGHUP)
    wait_until(lambda: reader.request("PUT", "/v1/switch", {"mode": "normal"}).status == 200, "the new role")
    write(IDENTITIES.replace("admin", "king"), "identities.yaml")
    strict.signal(signal.SIGHUP)
    strict.wait_for_log(r'identities.yaml:3: .*"king" is not a role.*; keeping the previous ones')
    problems = admin.get("/readyz").json["problems"]
    assert any('"king" is not a role' in one for one in problems), problems
    expect(admin.get("/v1/policies"), 200)


def test_identities_that_are_wrong_at_the_start_keep_it_from_starting(tool, write, authority, tmp_path):
    own = authority.for_servers()
    ended = tool(binary(), "serve", "--listen", "127.0.0.1:0", "--tls-cert", own.certificate, "--tls-key", own.key,
                 "--tls-client-ca", authority.file, "--identities", write("- { name: a }", "identities.yaml"), cwd=tmp_path)
    assert ended.returncode == 2
    assert "identities.yaml:1: [0].roles: is missing; an identity needs at least one" in ended.stderr


def test_the_command_line_speaks_tls(node, authority, tmp_path, ops, gateway):
    strict = node("--require-token")
    server = ["--server", f"https://127.0.0.1:{strict.port}"]
    as_ops = [*server, "--ca", authority.file, "--client-cert", ops.certificate, "--client-key", ops.key]
    assert "api" in works("policy", "list", *as_ops)
    assert works("switch", "status", *as_ops).endswith(": normal\n")
    by_environment = {"SLUICE_SERVER": f"https://localhost:{strict.port}", "SLUICE_CA": str(authority.file),
                      "SLUICE_CLIENT_CERT": str(gateway.certificate), "SLUICE_CLIENT_KEY": str(gateway.key)}
    assert works("check", "--tenant", "shop-1", "--key", "k", "--resource", "/x", env=by_environment).startswith("allowed")
    assert "the server answers 401" in fails("policy", "list", *server, "--ca", authority.file)
    assert "is not trusted: " in fails("policy", "list", *server)
    assert "must be given together" in fails("policy", "list", *server, "--client-cert", ops.certificate)
    assert "cannot read /nowhere" in fails("policy", "list", *server, "--ca", "/nowhere")
    plain = fails("policy", "list", "--server", strict.address)
    assert "this port requires TLS" in plain or "answers 400" in plain
    result = tmp_path / "result.json"

    def measured():  # on a busy machine such a short run may end before its first answer
        works("bench", f"https://{strict.address}", "--ca", authority.file, "--client-cert", gateway.certificate, "--client-key",
              gateway.key, "--tenant", "shop-1", "--connections", "2", "--streams", "3", "--duration", "0.2", "--warmup", "0",
              "--json", result)
        return json.loads(result.read_text())
    assert not wait_until(lambda: (run := measured())["allowed"] > 0 and run, "answers")["errors"]
