"""The gRPC APIs of other limiters with grpcio: ratelimiter.v1.RateLimiterService, sluice.compat.v1.Allow and .Quota."""

import itertools
import json
import time

import grpc
import pytest
from harness.admin import bearer, expect, sqlite
from harness.server import WAIT_SECONDS, wait_until

MR, ALLOW, QUOTA = "ratelimiter.v1.RateLimiterService", "sluice.compat.v1.Allow", "sluice.compat.v1.Quota"
DOMAINS = {"domains": [
    {"domain": "shop", "prefix": "user", "rate": {"capacity": 5, "leak_rate_per_second": 0.0001},
     "rates": [{"name": "day", "flow_rate_per_second": 0.00001, "burst_capacity": 8}]},
    {"domain": "shop", "prefix": "admin", "rate": {"capacity": 1000, "leak_rate_per_second": 0.0001}},
]}
IMPATIENT = """
policies:
  - id: default
    resource: /never-asked
    limits: [{ name: key, per: [key], rate: 10/h }]
  - id: small
    resource: /never-asked-either
    limits: [{ name: key, per: [key], rate: 2/h }]
  - id: orders
    resource: /orders
    limits:
      - { name: user, per: [user], rate: 10/h }
      - { name: ip, per: [ip], rate: 5/h }
      - { name: api_key, per: [api_key], rate: 4/h, algorithm: leaky_bucket }
  - id: login
    resource: /login
    limits: [{ name: user, per: [user], rate: 10/h }]
    on_failure: closed
"""
POLICIES = IMPATIENT.replace("    limits:", "    deadline: 30s  # however busy the machine is\n    limits:")


@pytest.fixture(params=["memory", "redis"])
def store(request, redis_server):
    """The arguments of a server for a store, whose counters nobody else has."""
    return ["--store", redis_server().url] if request.param == "redis" else []


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "policies"
    made.mkdir()
    (made / "domains.json").write_text(json.dumps(DOMAINS))
    (made / "policies.yaml").write_text(POLICIES)
    return made


@pytest.fixture
def node(server, folder, store, http):
    one = server(folder, args=["--drain-notice-ms", "0", *store])
    wait_until(lambda: http(one).get("/readyz").status == 200, "the store")
    return one


@pytest.fixture
def mr(node, grpc_stub):
    return grpc_stub(node, MR)


@pytest.fixture
def allow(node, grpc_stub):
    return grpc_stub(node, ALLOW)


@pytest.fixture
def quota(node, grpc_stub):
    return grpc_stub(node, QUOTA)


def refused(call, *message, **fields):
    """(the status, its text) of a call that fails."""
    with pytest.raises(grpc.RpcError) as error:
        call(*message, **fields)
    return error.value.code(), error.value.details()


def near(value):
    """What has leaked by now is little."""
    return pytest.approx(value, abs=0.2)


class StoreTooLate(Exception):
    """No bucket was looked at: the failure rule has decided."""


def consume(mr, key="user:1", domain="shop", by_failure_rule=False, **fields):
    answer = mr.ConsumeAndCheckLimit(domain=domain, limit_key=key, **fields)
    if answer.limiting_rate_index == -1 and not by_failure_rule:
        raise StoreTooLate
    return answer.allowed, answer.remaining_capacity, answer.limiting_rate_index, answer.deny_count


def in_time(scenario):
    """Runs scenario(number) until the store has answered all of it in time: an entry has no deadline of its own, and on a
    busy machine Redis misses the usual one. The number is another one each time, for keys of its own."""
    numbers = itertools.count(1)

    def attempt():
        try:
            scenario(next(numbers))
            return True
        except StoreTooLate:
            return False
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            return False
    wait_until(attempt, "a store that answers in time")


def test_mr_buckets(mr):
    in_time(lambda number: buckets_of(mr, f"{number}"))


def buckets_of(mr, who):
    user = f"user:{who}"
    assert consume(mr, user) == (True, near(4), 0, 0)
    assert consume(mr, user, cost=4) == (True, near(0), 0, 0)
    assert consume(mr, user, cost=3) == (False, near(-3), 0, 3)
    assert consume(mr, user, cost=2) == (False, near(-2), 0, 5)
    assert consume(mr, user, cost=0) == (True, near(0), 0, 0), "a look"
    status = mr.GetBucketStatus(domain="shop", limit_key=user)
    assert [(level.current_level, level.flow_rate, level.burst_capacity, level.remaining_capacity) for level in status.levels] == [
        (near(5), 0.0001, 5, near(0)), (near(5), 0.00001, 8, near(3))]
    assert status.deny_count == 5
    assert abs(status.last_update_timestamp / 1000 - time.time()) < WAIT_SECONDS
    assert consume(mr, f"user:not {who}", cost=5) == (True, near(0), 0, 0), "another key"
    assert consume(mr, f"admin:{who}") == (True, near(999), 0, 0), "another entry"
    assert consume(mr, f"guest:{who}") == (True, near(4), 0, 0), "the first entry"


def test_mr_the_most_restrictive_rate_is_named(server, grpc_stub, write):
    rates = [{"name": "fast", "flow_rate_per_second": 1000, "burst_capacity": 10}, {"name": "slow", "flow_rate_per_second": 0.0001, "burst_capacity": 12}]
    mr = grpc_stub(server(write(json.dumps({"domains": [{"domain": "d", "rates": rates}]}), "d.json")), MR)
    assert consume(mr, "k", "d", cost=10)[:3:2] == (True, 0)
    wait_until(lambda: consume(mr, "k", "d", cost=0)[2] == 1, "the fast bucket leaks")
    assert consume(mr, "k", "d", cost=3) == (False, near(-1), 1, 3)
    assert consume(mr, "k", "d", cost=2) == (True, near(0), 1, 0)


def test_mr_denials_add_up_until_the_next_admission(server, grpc_stub, write):
    one = {"domain": "d", "rate": {"capacity": 2, "leak_rate_per_second": 1}}
    mr = grpc_stub(server(write(json.dumps({"domains": [one]}), "d.json")), MR)
    assert consume(mr, "k", "d", cost=2)[0]
    assert [consume(mr, "k", "d", cost=2)[3] for _ in range(3)] == [2, 4, 6]
    wait_until(lambda: consume(mr, "k", "d")[0], "a unit leaks")
    assert consume(mr, "k", "d", cost=2)[3] == 2


def test_mr_denials_of_an_empty_bucket_add_up(mr):
    in_time(lambda number: denials_of(mr, f"user:{number}"))


def denials_of(mr, user):
    assert [consume(mr, user, cost=6) for _ in range(3)] == [(False, near(-1), 0, total) for total in (6, 12, 18)], "the other rate has room"
    assert consume(mr, user, cost=9) == (False, near(-4), 0, 27), "both have none"
    assert consume(mr, user, cost=0)[0] and mr.GetBucketStatus(domain="shop", limit_key=user).deny_count == 27, "looks change nothing"
    assert consume(mr, user, cost=5) == (True, near(0), 0, 0)
    assert mr.GetBucketStatus(domain="shop", limit_key=user).deny_count == 0
    assert consume(mr, user, cost=2) == (False, near(-2), 0, 2)


def test_mr_the_default(mr):
    """The built-in entry: 100 at once, 10 a second."""
    def default(number):
        for domain in ("unknown", "default"):
            assert consume(mr, f"k{number}", domain, cost=30)[0]
        assert mr.ConsumeAndCheckLimit(limit_key=f"k{number}", cost=70).allowed, "no domain is the default"
        allowed, left, _, denied = consume(mr, f"k{number}", "default", cost=100)
        assert (allowed, denied) == (False, 100) and -100 <= left < 0
        level, = mr.GetBucketStatus(limit_key=f"k{number}").levels
        assert (level.flow_rate, level.burst_capacity) == (10, 100)
    in_time(default)


def test_mr_an_entry_called_default(server, grpc_stub, write):
    one = {"domain": "default", "rate": {"capacity": 3, "leak_rate_per_second": 0.0001}}
    node = server(write(json.dumps({"domains": [one]}), "d.json"))
    mr = grpc_stub(node, MR)
    assert consume(mr, "k", "unknown") == (True, near(2), 0, 0)
    assert mr.ConsumeAndCheckLimit(limit_key="k").remaining_capacity == near(2), "each domain has a bucket of its own"
    assert grpc_stub(node, ALLOW).Allow(key="k").remaining == 1, "it is the policy of that id, too"


def shown(config):
    return [(entry.domain, entry.prefix_key, [(rate.flow_rate_per_second, rate.burst_capacity, rate.name) for rate in entry.policies])
            for entry in config.configs]


def expect_first_entry(mr, key, capacity):
    assert consume(mr, key) == (True, near(capacity - 1), 0, 0), "the first entry is another one now"


def test_mr_config(mr, node, folder):
    first = [("shop", "admin", [(0.0001, 1000, "rate")]), ("shop", "user", [(0.0001, 5, "rate"), (0.00001, 8, "day")])]
    assert shown(mr.GetCurrentConfig()) == first
    changed = {"domains": [{"domain": "shop", "prefix": "guest", "rate": {"capacity": 7, "leak_rate_per_second": 0.0001}}, *DOMAINS["domains"]]}
    (folder / "domains.json").write_text(json.dumps(changed))
    wait_until(lambda: len(mr.GetCurrentConfig().configs) == 3, "the changed file")
    in_time(lambda number: expect_first_entry(mr, f"somebody{number}", 7))
    (folder / "domains.json").write_text('{"domains": [{"domain": "shop"}]}')
    wait_until(lambda: "domains[0].rate" in node.log(), "the bad file is refused")
    assert len(mr.GetCurrentConfig().configs) == 3


def test_mr_config_without_entries_is_the_built_in_one(server, grpc_stub):
    mr = grpc_stub(server("policies: []"), MR)
    assert shown(mr.GetCurrentConfig()) == [("default", "", [(10, 100, "rate")])]


def test_mr_config_by_its_environment_variable(server, grpc_stub, write):
    path = write(json.dumps(DOMAINS), "domains.json")
    mr = grpc_stub(server(None, env={"RATE_LIMIT_CONFIG": str(path)}), MR)
    assert consume(mr) == (True, near(4), 0, 0)


def test_allow(allow):
    first = allow.Allow(key="k")
    assert (first.allowed, first.limit, first.remaining, first.retry_after_ms) == (True, 10, 9, 0)
    assert abs(first.reset_unix_ms / 1000 - time.time() - 360) < WAIT_SECONDS
    assert allow.AllowN(key="k", n=8).remaining == 1
    denied = allow.AllowN(key="k", n=2)
    assert (denied.allowed, denied.remaining) == (False, 1) and 0 < denied.retry_after_ms <= 360_000
    assert allow.AllowN(key="k").remaining == 1, "n = 0 looks"
    never = allow.AllowN(key="k", n=11)
    assert (never.allowed, never.retry_after_ms) == (False, -1)
    assert allow.Allow(key="k", policy="small").limit == 2
    allow.Reset(key="k")
    assert allow.AllowN(key="k").remaining == 10
    assert allow.AllowN(key="k", policy="small").remaining == 1, "a reset is of one policy"


def test_quota(quota, api):
    kinds = api.enum("sluice.compat.v1.Dimension")
    assert kinds == {"USER": 0, "IP": 1, "API_KEY": 2}
    def check(kind, **fields):
        one = quota.CheckRateLimit(identifier="x", dimension=kinds[kind], endpoint="/orders", **fields)
        return one.allowed, one.current_count, one.limit, one.remaining, one.queue_position
    assert check("USER") == (True, 1, 10, 9, 0)
    assert check("IP", cost=5) == (True, 5, 5, 0, 0)
    assert check("API_KEY", cost=3) == (True, 3, 4, 1, 3)
    assert check("USER", timestamp=1) == (True, 2, 10, 8, 0)
    assert check("USER", cost=0) == (True, 2, 10, 8, 0)
    assert check("USER", cost=3, idempotency_key="once") == check("USER", cost=3, idempotency_key="once") == (True, 5, 10, 5, 0)
    denied = quota.CheckRateLimit(identifier="x", dimension=1, endpoint="/orders")
    assert not denied.allowed and 0 < denied.retry_after <= 720
    assert abs(denied.reset_at - time.time() - 3600) < WAIT_SECONDS
    look = quota.GetRemainingQuota(identifier="x", dimension=2, endpoint="/orders")
    assert (look.allowed, look.current_count, look.limit, look.remaining, look.queue_position) == (True, 3, 4, 1, 3)
    used_up = quota.GetRemainingQuota(identifier="x", dimension=1, endpoint="/orders")
    assert not used_up.allowed and 0 < used_up.retry_after <= 720
    assert quota.ResetLimit(identifier="x", dimension=1, endpoint="/orders").reset == 1
    assert quota.GetRemainingQuota(identifier="x", dimension=1, endpoint="/orders").remaining == 5
    free = quota.CheckRateLimit(identifier="x", endpoint="/unlimited")
    assert (free.allowed, free.limit, free.remaining) == (True, -1, -1)
    code, text = refused(quota.CheckRateLimit, identifier="x", endpoint="/orders", cost=4, idempotency_key="once")
    assert code == grpc.StatusCode.FAILED_PRECONDITION and text.startswith("idempotency_key: idempotency_key was used")


@pytest.mark.parametrize("service, method, fields, field", [
    (MR, "ConsumeAndCheckLimit", {}, "limit_key"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k" * 257}, "limit_key"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k", "domain": ""}, "domain"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k", "domain": "d" * 257}, "domain"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k", "domain": "a\x01b"}, "domain"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k", "cost": -1}, "cost"),
    (MR, "ConsumeAndCheckLimit", {"limit_key": "k", "cost": 2**31 - 1}, "cost"),
    (MR, "GetBucketStatus", {"limit_key": ""}, "limit_key"),
    (MR, "GetBucketStatus", {"limit_key": "k", "domain": ""}, "domain"),
    (ALLOW, "Allow", {}, "key"),
    (ALLOW, "Allow", {"key": "k" * 257}, "key"),
    (ALLOW, "AllowN", {"key": "k", "n": -1}, "n"),
    (ALLOW, "AllowN", {"key": "k", "n": 2**32 + 1}, "n"),
    (ALLOW, "Reset", {}, "key"),
    (QUOTA, "CheckRateLimit", {"endpoint": "/orders"}, "identifier"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "dimension": 3}, "dimension"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "dimension": -1}, "dimension"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "cost": -1}, "cost"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "cost": 2**63 - 1}, "cost"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "idempotency_key": "i" * 129}, "idempotency_key"),
    (QUOTA, "CheckRateLimit", {"identifier": "k", "endpoint": "e" * 2049}, "endpoint"),
    (QUOTA, "GetRemainingQuota", {"identifier": "k", "dimension": 7}, "dimension"),
    (QUOTA, "ResetLimit", {}, "identifier"),
])
def test_bad_requests_name_the_field(server, grpc_stub, folder, service, method, fields, field):
    code, text = refused(getattr(grpc_stub(server(folder), service), method), **fields)
    assert code == grpc.StatusCode.INVALID_ARGUMENT and text.startswith(f"{field}: "), text


def test_unknown_policies_and_methods(server, grpc_stub, folder):
    node = server(folder)
    allow = grpc_stub(node, ALLOW)
    for call in (allow.Allow, allow.AllowN, allow.Reset):
        assert refused(call, key="k", policy="nobody") == (grpc.StatusCode.NOT_FOUND, 'policy: there is no policy "nobody"')
    without = grpc_stub(server("policies: []"), ALLOW)
    assert refused(without.Allow, key="k") == (grpc.StatusCode.NOT_FOUND, 'policy: there is no policy "default"')
    with grpc.insecure_channel(node.address) as channel:
        for path in (f"/{MR}/Nothing", f"/{ALLOW}/allow", f"/{QUOTA}/", "/ratelimiter.v2.RateLimiterService/GetBucketStatus"):
            call = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
            assert refused(call, b"", timeout=30)[0] == grpc.StatusCode.UNIMPLEMENTED, path


@pytest.mark.parametrize("path, good", [
    (f"/{MR}/ConsumeAndCheckLimit", b"\x0a\x04shop\x12\x06user:1"),
    (f"/{MR}/GetBucketStatus", b"\x0a\x04shop\x12\x06user:1"),
    (f"/{ALLOW}/Allow", b"\x0a\x01k\x12\x05small"),
    (f"/{ALLOW}/AllowN", b"\x0a\x01k\x10\x01\x1a\x05small"),
    (f"/{ALLOW}/Reset", b"\x0a\x01k\x12\x05small"),
    (f"/{QUOTA}/CheckRateLimit", b"\x0a\x01x\x1a\x07/orders"),
    (f"/{QUOTA}/GetRemainingQuota", b"\x0a\x01x\x1a\x07/orders"),
    (f"/{QUOTA}/ResetLimit", b"\x0a\x01x\x1a\x07/orders"),
])
def test_half_a_message(server, grpc_stub, folder, path, good):
    node = server(folder)
    with grpc.insecure_channel(node.address) as channel:
        call = channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)
        for bad in (good[:-1], b"\xff", b"\x0a\x05ab", good + b"\x0b", good + b"\x00\x00", b"\x0a\x01\xff" + good, b"\x08\x01" + good):
            assert refused(call, bad, timeout=30)[0] == grpc.StatusCode.INTERNAL, bad
        call(good + b"\xa2\x06\x03new", timeout=30)  # field 100: of the future


def test_counters_are_those_of_the_native_api(node, grpc_stub, allow, mr):
    native = grpc_stub(node)
    allow.AllowN(key="k", n=4)
    assert native.GetUsage(policy_id="default", dimensions={"key": "k"}).usages[0].current == 4

    def entry(number):
        consume(mr, f"user:{number}", cost=2)
        usages = native.GetUsage(policy_id="shop:user", dimensions={"key": f"user:{number}"}).usages
        assert [usage.current for usage in usages] == [2, 2]
    in_time(entry)


def test_tokens_and_the_audit_log(server, grpc_stub, http, folder, tmp_path):
    node = server(folder, args=[*sqlite(tmp_path), "--require-token"])
    mr, allow, quota = (grpc_stub(node, service) for service in (MR, ALLOW, QUOTA))
    calls = [(mr.ConsumeAndCheckLimit, {"domain": "shop", "limit_key": "k"}), (mr.GetBucketStatus, {"domain": "shop", "limit_key": "k"}),
             (mr.GetCurrentConfig, {}), (allow.Allow, {"key": "k"}), (allow.AllowN, {"key": "k"}), (allow.Reset, {"key": "k"}),
             (quota.CheckRateLimit, {"identifier": "k"}), (quota.GetRemainingQuota, {"identifier": "k"}), (quota.ResetLimit, {"identifier": "k"})]
    for call, fields in calls:
        assert refused(call, **fields)[0] == grpc.StatusCode.UNAUTHENTICATED
    wait_until(lambda: "\nsluice_" in node.log(), "the first token is printed")
    admin = bearer(next(line for line in node.log().splitlines() if line.startswith("sluice_")))
    client = http(node)

    def token(name, roles, tenants=None):
        body = {"name": name, "roles": roles, **({"tenants": tenants} if tenants else {})}
        return [("authorization", "Bearer " + expect(client.post("/v1/tokens", body, admin), 201)["token"])]

    checker = token("checker", ["check"])
    for (call, fields), allowed in zip(calls, [True, False, False, True, True, False, True, False, False], strict=True):
        if allowed:
            call(**fields, metadata=checker)
        else:
            assert refused(call, **fields, metadata=checker)[0] == grpc.StatusCode.PERMISSION_DENIED

    of_shop = token("of-shop", ["check", "read"], ["shop"])
    assert mr.ConsumeAndCheckLimit(domain="shop", limit_key="k", metadata=of_shop).allowed
    assert len(mr.GetCurrentConfig(metadata=of_shop).configs) == 2
    assert len(mr.GetCurrentConfig(metadata=token("of-others", ["read"], ["other"])).configs) == 0
    for call, fields in ((mr.ConsumeAndCheckLimit, {"limit_key": "k"}), (mr.ConsumeAndCheckLimit, {"domain": "x", "limit_key": "k"}),
                         (allow.Allow, {"key": "k"}), (quota.CheckRateLimit, {"identifier": "k"})):
        assert refused(call, **fields, metadata=of_shop)[0] == grpc.StatusCode.PERMISSION_DENIED, "that is not of the shop"

    operator = token("ops", ["operator"])
    allow.Reset(key="k", metadata=operator)
    quota.ResetLimit(identifier="k", endpoint="/orders", metadata=operator)
    entries = []

    def audited():
        entries[:] = expect(client.get("/v1/audit?kind=event", admin), 200)["entries"]
        return len(entries) == 2
    wait_until(audited, "two resets in the audit log")
    assert {entry["actor"] for entry in entries} == {"token ops"}


def test_without_the_store(server, grpc_stub, http, folder, redis):
    (folder / "policies.yaml").write_text(IMPATIENT)
    node = server(folder, args=["--drain-notice-ms", "0", "--store", redis.url])
    mr, allow, quota = (grpc_stub(node, service) for service in (MR, ALLOW, QUOTA))
    wait_until(lambda: allow.Allow(key="warm").limit == 10, "the store")
    redis.stop()
    assert consume(mr, by_failure_rule=True) == (True, 0, -1, 0), "open, and no bucket was looked at"
    open_answer = allow.Allow(key="k")
    assert (open_answer.allowed, open_answer.limit, open_answer.remaining) == (True, -1, -1)
    assert quota.CheckRateLimit(identifier="x", endpoint="/orders").allowed
    assert not quota.CheckRateLimit(identifier="x", endpoint="/login").allowed, "closed"
    for call, fields in ((mr.GetBucketStatus, {"limit_key": "k"}), (allow.Reset, {"key": "k"}),
                         (quota.GetRemainingQuota, {"identifier": "x", "endpoint": "/orders"}),
                         (quota.ResetLimit, {"identifier": "x", "endpoint": "/orders"})):
        assert refused(call, **fields)[0] == grpc.StatusCode.UNAVAILABLE
    assert len(mr.GetCurrentConfig().configs) == 2, "needs no store"
    redis.start()
    wait_until(lambda: consume(mr, by_failure_rule=True)[2] == 0, "the store is back")


def test_the_switch_opens_these_doors_too(server, grpc_stub, http, folder, tmp_path):
    node = server(folder, args=sqlite(tmp_path))
    mr, allow, quota = (grpc_stub(node, service) for service in (MR, ALLOW, QUOTA))
    assert consume(mr, cost=5)[0] and allow.AllowN(key="k", n=10).allowed
    expect(http(node).request("PUT", "/v1/switch", {"mode": "open", "reason": "test"}), 200)
    assert consume(mr, by_failure_rule=True, cost=5) == (True, 0, -1, 0)
    assert allow.Allow(key="k").allowed and quota.CheckRateLimit(identifier="x", endpoint="/login", cost=100).allowed
    expect(http(node).request("PUT", "/v1/switch", {"mode": "normal"}), 200)
    assert not consume(mr, cost=5)[0] and not allow.Allow(key="k").allowed


def test_overload(server, grpc_stub, folder):
    node = server(folder, args=["--max-checks-per-second", "1"])
    for service, method, fields in ((MR, "ConsumeAndCheckLimit", {"limit_key": "k"}), (ALLOW, "Allow", {"key": "k"}),
                                    (QUOTA, "CheckRateLimit", {"identifier": "k"})):
        call = getattr(grpc_stub(node, service), method)

        def is_refused():
            try:
                call(**fields)
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE
                return True
        wait_until(is_refused, f"{method} meets the bound")


def test_they_are_healthy(server, grpc_stub, folder):
    node = server(folder)
    health = grpc_stub(node, "grpc.health.v1.Health")
    for service in (MR, ALLOW, QUOTA):
        assert health.Check(service=service).status == 1
