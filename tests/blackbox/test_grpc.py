"""The native gRPC service with grpcio, the client most people have."""

import grpc
import pytest

POLICIES = """
policies:
  - id: api.read
    limits:
      - { name: burst, per: [tenant, user], rate: 10/h }
      - { name: total, per: [tenant], rate: 1000/h, algorithm: fixed_window }
    costs: { /large: 5 }
  - id: small
    resource: /small
    limits: [{ name: one, per: [key], rate: 1/h }]
"""


@pytest.fixture
def stub(server, grpc_stub):
    return grpc_stub(server(POLICIES))


def check(stub, user="u1", **fields):
    return stub.CheckAndIncrement(policy_id="api.read", dimensions={"tenant": "t", "user": user}, **fields)


def test_an_answer_explains_itself(stub):
    answer = check(stub, cost=9)
    assert answer.allowed
    assert (answer.remaining, answer.limit, answer.current) == (1, 10, 9)
    assert answer.policy_version == "api.read#1"
    assert answer.reason == "ok"
    assert answer.state == 1  # WARNING
    assert answer.limiting_index == 0
    assert answer.retry_after_ms == 0
    assert answer.reset_unix_ms > 1_600_000_000_000
    quota = answer.matched_quota
    assert (quota.name, list(quota.per), quota.limit, quota.period_ms, quota.algorithm) == (
        "burst", ["tenant", "user"], 10, 3_600_000, "gcra")


def test_a_denial_is_an_answer_and_charges_nothing(stub):
    denied = check(stub, cost=11)
    assert not denied.allowed
    assert denied.reason == "never"
    assert denied.retry_after_ms == -1
    check(stub, cost=10)
    denied = check(stub)
    assert not denied.allowed
    assert denied.reason == "limited"
    assert 0 < denied.retry_after_ms <= 360_000
    usages = {u.quota.name: u for u in stub.GetUsage(policy_id="api.read", dimensions={"tenant": "t", "user": "u1"}).usages}
    assert usages["burst"].current == 10
    assert usages["total"].current == 10


def test_cost_absent_is_the_policys_zero_looks(stub):
    assert check(stub, resource="/large").remaining == 5
    assert check(stub, resource="/large", cost=0).remaining == 5
    assert check(stub).remaining == 4


def test_without_a_policy_everything_passes(server, grpc_stub):
    answer = grpc_stub(server("policies: []\n")).CheckAndIncrement(tenant_id="t", resource="/other")
    assert answer.allowed
    assert (answer.remaining, answer.limit, answer.limiting_index) == (-1, -1, -1)
    assert (answer.reason, answer.policy_version) == ("no_policy", "")
    assert not answer.HasField("matched_quota")


def test_a_batch_is_decided_in_order(stub, api):
    request = api.message("sluice.v1.CheckRequest")
    checks = [request(policy_id="small", dimensions={"key": key}) for key in ("a", "a", "b")]
    assert [result.allowed for result in stub.CheckBatch(checks=checks).results] == [True, False, True]


def test_reset_forgets(stub):
    check(stub, cost=10)
    assert not check(stub).allowed
    who = {"tenant": "t", "user": "u1"}
    assert stub.ResetKey(policy_id="api.read", dimensions=who, reason="test").reset == 2
    assert stub.ResetKey(policy_id="api.read", dimensions=who).reset == 0
    assert check(stub).allowed


def test_an_unknown_method_is_unimplemented(server):
    with grpc.insecure_channel(server(POLICIES).address) as channel:
        call = channel.unary_unary("/sluice.v1.RateLimiter/Nothing", request_serializer=bytes, response_deserializer=bytes)
        with pytest.raises(grpc.RpcError) as error:
            call(b"", timeout=30)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_an_error_names_the_field_in_its_details(stub):
    with pytest.raises(grpc.RpcError) as error:
        check(stub, cost=-1)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    details = dict(error.value.trailing_metadata())["grpc-status-details-bin"]
    for part in (b"type.googleapis.com/google.rpc.ErrorInfo", b"INVALID_ARGUMENT", b"type.googleapis.com/google.rpc.BadRequest", b"cost"):
        assert part in details


def test_compressed_requests_are_understood(stub):
    assert check(stub, compression=grpc.Compression.Gzip).remaining == 9


def test_fields_of_the_future_are_ignored(server, api):
    request = api.message("sluice.v1.CheckRequest")(policy_id="small", dimensions={"key": "a"}).SerializeToString()
    with grpc.insecure_channel(server(POLICIES).address) as channel:
        call = channel.unary_unary("/sluice.v1.RateLimiter/CheckAndIncrement", request_serializer=bytes,
                                   response_deserializer=api.message("sluice.v1.CheckResponse").FromString)
        assert call(request + b"\xa2\x06\x03new", timeout=30).allowed  # field 100
