"""ConfigurePolicy and ListPolicies with grpcio: the admin API for those who have a gRPC client already."""

import json

import grpc
import pytest
from harness.admin import QUICK_END, bearer, expect, sqlite
from harness.server import wait_until

MANY = 5000


def document(policy_id="p", rate="10/h", tenant="shop", **more):
    return {"id": policy_id, "tenant": tenant, "resource": f"/{policy_id}",
            "limits": [{"name": "one", "per": ["key"], "rate": rate}], **more}


def refused(code, call, *arguments, **fields):
    """The message of the error that the call must end with."""
    with pytest.raises(grpc.RpcError) as error:
        answer = call(*arguments, **fields)
        list(answer) if hasattr(answer, "__next__") else answer
    assert error.value.code() == code, error.value
    return error.value.details()


def configure(stub, policy, metadata=None, **fields):
    return stub.ConfigurePolicy(document=json.dumps(policy), metadata=metadata, **fields).policy_version


def ids(stub, metadata=None, **fields):
    return [policy.id for policy in stub.ListPolicies(metadata=metadata, **fields)]


@pytest.fixture
def running(server, tmp_path):
    return server(args=sqlite(tmp_path))


@pytest.fixture
def stub(running, grpc_stub):
    return grpc_stub(running)


def test_create_and_change(running, stub, http):
    client = http(running)
    assert configure(stub, document(), reason="first try", owner="search-team") == "p#1"
    assert client.check(policy_id="p", key="k")["remaining"] == 9, "in force when it is answered"
    yaml = "tenant: shop\nresource: /p\nowner: them\nlimits:\n  - {name: one, per: [key], rate: 20/h}\n"
    answer = stub.ConfigurePolicy(id="p", document=yaml, version=1, reason="noon peak")
    assert answer.policy_version == "p#2"
    assert client.check(policy_id="p", key="k")["remaining"] == 18
    one, = stub.ListPolicies()
    assert (one.id, one.version, one.owner, one.reason) == ("p", 2, "them", "")
    assert json.loads(one.document) == document(rate="20/h", owner="them")
    entries = client.get("/v1/audit?name=p").json["entries"]
    assert [(entry["version"], entry["actor"], entry["reason"]) for entry in entries] == [
        (2, "loopback", "noon peak"), (1, "loopback", "first try")]
    assert entries[1]["after"]["owner"] == "search-team"


def test_rest_and_grpc_see_the_same(running, stub, http):
    client = http(running)
    expect(client.request("PUT", "/v1/policies/rest", document("rest")), 201)
    assert configure(stub, document("rest", "30/h"), version=1) == "rest#2"
    assert client.get("/v1/policies/rest").headers["etag"] == '"2"'
    assert ids(stub) == ["rest"]


def test_who_saw_an_old_version_is_told(stub):
    configure(stub, document())
    configure(stub, document(rate="11/h"), version=1)
    message = refused(grpc.StatusCode.ABORTED, configure, stub, document(rate="12/h"), version=1)
    assert message.startswith("version: ") and "version 2" in message
    refused(grpc.StatusCode.ABORTED, configure, stub, document("none"), version=3)
    assert configure(stub, document(rate="13/h")) == "p#3", "0: whatever is there"


def test_what_stands_in_the_way(server, grpc_stub, tmp_path):
    stub = grpc_stub(server("policies: [{ id: fixed, limits: [{ rate: 1/s }] }]", args=sqlite(tmp_path)))
    message = refused(grpc.StatusCode.FAILED_PRECONDITION, configure, stub, {"id": "fixed", "limits": [{"rate": "2/s"}]})
    assert "comes from a file" in message
    configure(stub, document())
    message = refused(grpc.StatusCode.FAILED_PRECONDITION, configure, stub, {**document("other"), "resource": "/p"})
    assert '"p"' in message
    assert ids(stub) == ["fixed", "p"]


@pytest.mark.parametrize("fields, field", [
    ({"document": "{"}, "document"),
    ({"document": ""}, "document"),
    ({"document": "limits: [{rate: 1/s}]"}, "id"),
    ({"id": "q", "document": json.dumps(document())}, "id"),
    ({"document": json.dumps(document(rate="-1/s"))}, "limits[0].rate"),
    ({"document": json.dumps(document(rate="1/fortnight"))}, "limits[0].rate"),
    ({"document": json.dumps({**document(), "color": "red"})}, "color"),
    ({"document": json.dumps(document(rate="0/s", tenant="*") | {"resource": "*"})}, "limits"),
    ({"document": json.dumps(document()), "version": -1}, "version"),
    ({"document": json.dumps(document()), "owner": "o" * 129}, "owner"),
    ({"document": json.dumps(document()), "reason": "r" * 1025}, "reason"),
])
def test_bad_input_names_the_field(stub, fields, field):
    assert refused(grpc.StatusCode.INVALID_ARGUMENT, stub.ConfigurePolicy, **fields).startswith(f"{field}: ")
    assert ids(stub) == []


def test_a_message_too_large_or_malformed(running, stub):
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, stub.ConfigurePolicy, document="#" * (1 << 20))
    with grpc.insecure_channel(running.address) as channel:
        bytes_in = {"request_serializer": bytes, "response_deserializer": bytes}
        unary = channel.unary_unary("/sluice.v1.RateLimiter/ConfigurePolicy", **bytes_in)
        stream = channel.unary_stream("/sluice.v1.RateLimiter/ListPolicies", **bytes_in)
        for call in (unary, stream):
            refused(grpc.StatusCode.INTERNAL, call, b"\x0a\x05ab", timeout=30)


def test_a_change_that_may_be_sent_twice(stub):
    keyed = (("idempotency-key", "k1"),)
    assert [configure(stub, document(), keyed) for _ in range(2)] == ["p#1", "p#1"]
    assert "k1" in refused(grpc.StatusCode.FAILED_PRECONDITION, configure, stub, document(rate="11/h"), keyed)


def test_denying_everybody_is_confirmed(stub):
    never = {"id": "never", "limits": [{"rate": "0/s"}]}
    assert configure(stub, never, (("confirm", "deny-everyone"),)) == "never#1"


@pytest.fixture
def many(running, http):
    """The ids of many policies of ten tenants, in order."""
    policies = [document(f"p{number:05}", tenant=f"shop-{number % 10}") for number in range(MANY)]
    expect(http(running).post("/v1/policies", {"policies": policies}), 200)
    return [policy["id"] for policy in policies]


def test_a_long_list(many, stub):
    listed = list(stub.ListPolicies(timeout=120))
    assert [policy.id for policy in listed] == many
    assert json.loads(listed[-1].document) == document(many[-1], tenant="shop-9")
    assert ids(stub, tenant_id="shop-3") == many[3::10]
    assert ids(stub, tenant_id="nobody") == []


def test_a_list_is_of_one_moment(many, running, stub, http):
    listing = stub.ListPolicies(timeout=120)
    begun = next(listing).id
    expect(http(running).request("DELETE", f"/v1/policies/{many[-1]}"), 204)
    assert [begun, *(policy.id for policy in listing)] == many
    assert ids(stub, timeout=120) == many[:-1]


def test_a_list_that_nobody_wants_to_the_end(many, stub):
    for _ in range(40):  # more than may be under way at a time
        listing = stub.ListPolicies(timeout=120)
        assert next(listing).id == many[0]
        listing.cancel()
    assert ids(stub, timeout=120) == many


def test_a_list_whose_deadline_comes_first(many, stub):
    listing = stub.ListPolicies(timeout=2)
    wait_until(lambda: not listing.is_active(), "the deadline")
    assert refused(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: listing)
    assert ids(stub, timeout=120) == many


def test_a_list_while_checks_go_on(many, stub, running, grpc_stub):
    listing = stub.ListPolicies(timeout=120)
    next(listing)
    other = grpc_stub(running)
    for key in range(50):
        assert other.CheckAndIncrement(policy_id=many[7], dimensions={"key": str(key)}).allowed
    assert sum(1 for _ in listing) == MANY - 1


@pytest.fixture
def guarded(server, http, grpc_stub, tmp_path):
    """A stub of a server that asks everybody for a token, and a factory of metadata with tokens."""
    node = server(args=[*sqlite(tmp_path), "--require-token"])
    root, client = bearer(node.wait_for_log(r"(sluice_\w{38})")[1]), http(node)

    def token(name, **rights):
        made = expect(client.post("/v1/tokens", {"name": name, **rights}, root), 201)
        return (("authorization", f"Bearer {made['token']}"),)

    return grpc_stub(node), token


def test_no_token_no_answer(guarded):
    stub, _ = guarded
    for metadata in (None, (("authorization", "Bearer sluice_wrong"),), (("authorization", "Basic eA=="),)):
        assert "authorization: " in refused(grpc.StatusCode.UNAUTHENTICATED, configure, stub, document(), metadata)
        refused(grpc.StatusCode.UNAUTHENTICATED, ids, stub, metadata)


@pytest.mark.parametrize("role, reads, writes", [("check", False, False), ("read", True, False), ("operator", True, False),
                                                 ("write", True, True), ("admin", True, True)])
def test_roles(guarded, role, reads, writes):
    stub, token = guarded
    metadata = token("tried", roles=[role])
    for allowed, call in ((reads, lambda: ids(stub, metadata)), (writes, lambda: configure(stub, document(), metadata))):
        if allowed:
            call()
        else:
            refused(grpc.StatusCode.PERMISSION_DENIED, call)


def test_tenants(guarded, http):
    stub, token = guarded
    root, shop = token("all", roles=["write"]), token("shop", roles=["write"], tenants=["shop-*"])
    configure(stub, document("bank", tenant="bank"), root)
    configure(stub, document("all", tenant="*"), root)
    assert configure(stub, document("mine", tenant="shop-1"), shop) == "mine#1"
    for tenant in ("bank", "*"):
        refused(grpc.StatusCode.PERMISSION_DENIED, configure, stub, document("new", tenant=tenant), shop)
    refused(grpc.StatusCode.PERMISSION_DENIED, configure, stub, document("bank", tenant="shop-1"), shop)
    assert ids(stub, shop) == ["mine"]
    assert ids(stub, shop, tenant_id="bank") == []
    assert ids(stub, root) == ["all", "bank", "mine"]


def test_admins_who_call_too_often(server, grpc_stub, tmp_path):
    few = ["--admin-reads-per-minute", "3", "--admin-writes-per-minute", "2"]
    stub = grpc_stub(server(args=["--policy-db", f"sqlite:{tmp_path}/policies.db", "--drain-notice-ms", "0", *few]))
    for number in range(2):
        configure(stub, document(rate=f"{number + 1}/h"))
    assert " ms" in refused(grpc.StatusCode.RESOURCE_EXHAUSTED, configure, stub, document(rate="9/h"))
    for _ in range(3):
        assert ids(stub) == ["p"]
    refused(grpc.StatusCode.RESOURCE_EXHAUSTED, ids, stub)


def test_without_the_database_lists_go_on(server, grpc_stub, postgres):
    stub = grpc_stub(server(args=["--policy-db", postgres.url, *QUICK_END]))
    configure(stub, document())
    postgres.stop()
    refused(grpc.StatusCode.UNAVAILABLE, configure, stub, document(rate="20/h"))
    assert ids(stub) == ["p"]
