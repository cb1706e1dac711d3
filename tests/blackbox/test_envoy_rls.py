"""Envoy's rate limit service with grpcio, over envoyproxy/ratelimit's own YAML."""

import itertools

import grpc
import pytest

from harness.admin import bearer, expect, sqlite
from harness.server import wait_until

SERVICE = "envoy.service.ratelimit.v3.RateLimitService"
BASIC = """
domain: basic
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: one_per_day, rate_limit: { unit: day, requests_per_unit: 1 } }
"""
ANOTHER = """
domain: another
descriptors:
  - { key: key2, rate_limit: { unit: day, requests_per_unit: 20 } }
  - { key: key3, rate_limit: { unit: week, requests_per_unit: 10, name: weekly } }
  - key: path
    value: "/img/*.png"
    share_threshold: true
    metadata: { team: media, weight: 1.5, tags: [a, null, true] }
    rate_limit: { unit: day, requests_per_unit: 3 }
  - { key: quota_a, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: quota_b, quota_mode: true, rate_limit: { unit: day, requests_per_unit: 2 } }
"""
OK, OVER_LIMIT = 1, 2


@pytest.fixture
def folder(tmp_path):
    """A directory with both files, as envoyproxy/ratelimit has it."""
    made = tmp_path / "envoy"
    made.mkdir()
    (made / "basic.yaml").write_text(BASIC)
    (made / "another.yaml").write_text(ANOTHER)
    return made


@pytest.fixture
def node(server, folder):
    return server(folder)


@pytest.fixture
def ask(node, grpc_stub):
    stub = grpc_stub(node, SERVICE)
    return lambda domain, *descriptors, **more: stub.ShouldRateLimit(request(domain, *descriptors, **more))


@pytest.fixture(autouse=True)
def messages(api):
    request.api = api


def request(domain, *descriptors, **more):
    """Each descriptor: a dict of entries, or the fields of a RateLimitDescriptor with `entries` as such a dict."""
    message = request.api.message("envoy.service.ratelimit.v3.RateLimitRequest")(domain=domain, **more)
    for each in descriptors:
        fields = dict(each) if isinstance(each.get("entries"), dict) else {"entries": each}
        one = message.descriptors.add()
        for key, value in fields.pop("entries").items():
            one.entries.add(key=key, value=value)
        if "hits" in fields:
            one.hits_addend.value = fields.pop("hits")
        one.is_negative_hits = fields.pop("gives_back", False)
        if "limit" in fields:
            one.limit.requests_per_unit, one.limit.unit = fields.pop("limit")
        assert not fields
    return message


def shown(status):
    limit = status.current_limit
    return (status.code, status.limit_remaining, limit.requests_per_unit, limit.unit) if status.HasField("current_limit") \
        else (status.code, status.limit_remaining)


def test_an_unknown_domain_is_not_limited(ask):
    answer = ask("foo", {"hello": "world"})
    assert answer.overall_code == OK and [shown(one) for one in answer.statuses] == [(OK, 0)]


def test_an_answer_tells_the_limit(ask):
    answer = ask("basic", {"key1": "foo"})
    assert answer.overall_code == OK and [shown(one) for one in answer.statuses] == [(OK, 49, 50, 1)]
    assert answer.statuses[0].duration_until_reset.ToJsonString() == "1s"
    weekly = ask("another", {"key3": "x"}).statuses[0]
    assert shown(weekly) == (OK, 9, 10, 7) and weekly.current_limit.name == "weekly"
    assert 0 < weekly.duration_until_reset.seconds <= 7 * 86_400


def test_a_limit_is_exact(ask):
    answers = [ask("another", {"key2": "R"}) for _ in range(25)]
    assert [one.overall_code for one in answers] == [OK] * 20 + [OVER_LIMIT] * 5
    assert [one.statuses[0].limit_remaining for one in answers] == [*range(19, -1, -1)] + [0] * 5


def test_all_descriptors_are_charged_or_none(ask):
    answers = [ask("another", {"key2": "R"}, {"key3": "R"}) for _ in range(15)]
    assert [one.statuses[1].code for one in answers] == [OK] * 10 + [OVER_LIMIT] * 5
    assert [one.overall_code for one in answers] == [OK] * 10 + [OVER_LIMIT] * 5
    assert [one.statuses[0].code for one in answers] == [OK] * 15
    assert [one.statuses[0].limit_remaining for one in answers] == [*range(19, 9, -1)] + [10] * 5


def test_compatibility_counts_what_is_denied(server, grpc_stub, tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text("compatibility: envoy" + ANOTHER)
    stub = grpc_stub(server(path), SERVICE)
    answers = [stub.ShouldRateLimit(request("another", {"key2": "R"}, {"key3": "R"})) for _ in range(15)]
    assert [one.statuses[0].limit_remaining for one in answers] == [*range(19, 4, -1)]


def test_costs_that_are_known_afterwards(server, grpc_stub, tmp_path):
    """A look at the beginning of a request, its cost at the end, as Envoy asks with apply_on_stream_done."""
    path = tmp_path / "one.yaml"
    path.write_text("compatibility: envoy" + ANOTHER)
    stub = grpc_stub(server(path), SERVICE)
    look, report = ({"entries": {"key2": "llm"}, "hits": hits} for hits in (0, 10))
    looks = []
    for _ in range(4):
        looks.append(stub.ShouldRateLimit(request("another", look)))
        if looks[-1].overall_code == OK:
            stub.ShouldRateLimit(request("another", report))
    assert [one.overall_code for one in looks] == [OK, OK, OK, OVER_LIMIT], "exactly used up is not over the limit"
    assert [one.statuses[0].limit_remaining for one in looks] == [20, 10, 0, 0]
    assert looks[3].dynamic_metadata["denied_by"]["reason"] == "limited"
    assert looks[3].dynamic_metadata["denied_by"]["policy_version"] >= 1
    assert 0 < looks[3].dynamic_metadata["denied_by"]["retry_after_ms"] <= 86_400_000
    assert stub.ShouldRateLimit(request("another", {"entries": {"key2": "other"}, "hits": 0})).overall_code == OK


def test_negative_hits_are_given_back(ask):
    def of(value, hits, **more):
        return {"entries": {"key2": value}, "hits": hits, **more}

    assert shown(ask("another", of("r", 18)).statuses[0]) == (OK, 2, 20, 4)
    assert shown(ask("another", of("r", 5, gives_back=True)).statuses[0]) == (OK, 7, 20, 4)
    mixed = ask("another", of("r", 8), of("r", 4, gives_back=True), of("s", 1))
    assert mixed.overall_code == OVER_LIMIT, "the room comes after the others were decided"
    assert [shown(one)[:2] for one in mixed.statuses] == [(OVER_LIMIT, 7), (OK, 11), (OK, 20)]
    assert shown(ask("another", of("r", 0, gives_back=True)).statuses[0]) == (OK, 11, 20, 4)
    assert shown(ask("another", of("r", 10**9, gives_back=True)).statuses[0]) == (OK, 20, 20, 4)


def test_negative_hits_are_given_back_in_redis(server, http, grpc_stub, folder, redis):
    node = server(folder, args=["--store", redis.url])
    wait_until(lambda: http(node).get("/readyz").status == 200, "the store")
    stub = grpc_stub(node, SERVICE)
    names = (f"r{attempt}" for attempt in itertools.count())

    def is_given_back():
        """With a counter of its own: a descriptor has no deadline, and on a busy machine Redis may miss the usual one."""
        who = {"key2": next(names)}
        first = stub.ShouldRateLimit(request("another", {"entries": who, "hits": 15}))
        both = stub.ShouldRateLimit(request("another", {"entries": who, "hits": 1}, {"entries": who, "hits": 6, "gives_back": True}))
        return [shown(each) for each in (*first.statuses, *both.statuses)] == [(OK, 5, 20, 4), (OK, 4, 20, 4), (OK, 10, 20, 4)]
    wait_until(is_given_back, "hits that are given back")


def test_giving_back_is_for_who_may_reset(server, http, grpc_stub, tmp_path):
    """A token for checks must not be one for resets, nor reach counters of other tenants."""
    policies = """
policies:
  - { id: all, always: true, limits: [{ name: all, rate: 10/d, algorithm: fixed_window }] }
  - { id: own, tenant: a, limits: [{ name: own, per: [user], rate: 10/d, algorithm: fixed_window }] }
"""
    node = server(policies, args=sqlite(tmp_path))
    client = http(node)
    tokens = {name: bearer(expect(client.post("/v1/tokens", {"name": name, **fields}), 201)["token"])
              for name, fields in {"root": {"roles": ["admin"]}, "checks": {"roles": ["check"], "tenants": ["a"]},
                                   "operates": {"roles": ["check", "operator"], "tenants": ["a"]}}.items()}

    def given_back_by(who, *args):
        """What the limits of everybody and of a's user have counted, after 5 of 5 hits were given back."""
        running = server(policies, args=[*sqlite(tmp_path), "--require-token", *args])
        stub, taken = grpc_stub(running, SERVICE), {"entries": {"user": "u"}, "hits": 5}
        for one in (taken, {**taken, "gives_back": True}):
            metadata = [("authorization", tokens[who]["Authorization"])]
            assert stub.ShouldRateLimit(request("a", one), metadata=metadata).overall_code == OK
        usages = expect(http(running).get("/v1/usage?tenant_id=a&resource=/user/u&user=u", tokens["root"]), 200)["usages"]
        page = http(running).get("/metrics", tokens["root"]).body.decode()
        assert running.stop() == 0
        counted = {name: (f'rate_limiter_units_given_back_total{{policy="{name}"}} 5\n' in page,
                          f'rate_limiter_refunds_refused_total{{policy="{name}"}} 1\n' in page) for name in ("all", "own")}
        return {one["quota"]["name"]: one["current"] for one in usages}, counted

    assert node.stop() == 0
    assert given_back_by("checks")[0] == {"all": 5, "own": 5}
    levels, counted = given_back_by("operates")
    assert levels == {"all": 5, "own": 0}
    assert counted == {"own": (True, False), "all": (False, True)}, "metrics tell what was given back, and what was refused"
    assert given_back_by("root")[0] == {"all": 0, "own": 0}
    assert given_back_by("checks", "--envoy-refunds", "check")[0] == {"all": 5, "own": 0}
    assert given_back_by("root", "--envoy-refunds", "none")[0] == {"all": 5, "own": 5}


def test_joint_charges_are_denied_in_redis_as_in_memory(server, http, grpc_stub, redis):
    policies = """
policies:
  - id: window
    tenant: window
    deadline: 10s
    limits: [{ name: n, per: [user], rate: 5/d, algorithm: fixed_window }]
    tiers: { gold: { n: { rate: 1000/d } } }
  - { id: bucket, tenant: bucket, deadline: 10s, limits: [{ name: n, per: [user], rate: 1000000000/d }] }
"""
    for args in ([], ["--store", redis.url]):
        node = server(policies, args=args)
        wait_until(lambda: http(node).get("/readyz").status == 200, "the store")
        stub = grpc_stub(node, SERVICE)
        plain, gold = {"user": "u"}, {"user": "u", "tier": "gold"}
        codes = [stub.ShouldRateLimit(request("window", *pair)).overall_code for pair in [(gold, plain), (plain, gold)] * 2]
        assert codes == [OK, OK, OVER_LIMIT, OVER_LIMIT], "each request charges two, and the stricter limit holds"
        for domain in ("window", "bucket"):
            for hits in (10**9 + 1, 2**64 - 1):
                denied = stub.ShouldRateLimit(request(domain, {"entries": {"user": "new"}, "hits": hits}))
                assert denied.overall_code == OVER_LIMIT, "no error, on which Envoy would let it pass"
        both = [{"entries": {"user": "new"}, "hits": 6 * 10**8}] * 2
        assert stub.ShouldRateLimit(request("bucket", *both)).overall_code == OVER_LIMIT
        assert stub.ShouldRateLimit(request("bucket", {"entries": {"user": "new"}, "hits": 10**9})).overall_code == OK, "nothing was charged"


def test_without_compatibility_a_look_is_never_denied(ask):
    for _ in range(3):
        ask("another", {"entries": {"key2": "llm"}, "hits": 15})
    assert shown(ask("another", {"entries": {"key2": "llm"}, "hits": 0}).statuses[0]) == (OK, 5, 20, 4)


def test_hits_and_looks(ask):
    assert ask("another", {"key2": "h"}, hits_addend=5).statuses[0].limit_remaining == 15
    assert ask("another", {"entries": {"key2": "h"}, "hits": 0}, hits_addend=5).statuses[0].limit_remaining == 15
    assert ask("another", {"entries": {"key2": "h"}, "hits": 14}).statuses[0].limit_remaining == 1
    denied = ask("another", {"entries": {"key2": "h"}, "hits": 2})
    assert shown(denied.statuses[0]) == (OVER_LIMIT, 1, 20, 4), "a denial charges nothing"


def test_wildcards_share_and_metadata_is_told(ask):
    answers = [ask("another", {"path": f"/img/{i}.png"}) for i in range(4)]
    assert [one.overall_code for one in answers] == [OK] * 3 + [OVER_LIMIT]
    assert answers[0].dynamic_metadata["metadata"]["team"] == "media"
    assert answers[0].dynamic_metadata["metadata"]["weight"] == 1.5
    assert list(answers[0].dynamic_metadata["metadata"]["tags"]) == ["a", None, True]
    assert "metadata" not in answers[3].dynamic_metadata
    assert ask("another", {"path": "/img/1.gif"}).statuses[0].HasField("current_limit") is False


def test_of_several_quotas_one_with_room_is_enough(ask):
    answers = [ask("another", {"quota_a": "x"}, {"quota_b": "x"}) for _ in range(3)]
    assert [one.overall_code for one in answers] == [OK, OK, OVER_LIMIT]
    assert [one.code for one in answers[1].statuses] == [OVER_LIMIT, OK]


@pytest.mark.parametrize("agent", ["u" * 257, "u" * 3000], ids=["257", "3000"])
def test_a_long_value_switches_no_limit_off(ask, agent):
    """A call that fails passes Envoy: what clients put into a header must not make it fail."""
    ask("basic", {"one_per_day": "x"})
    denied = ask("basic", {"one_per_day": "x"}, {"agent": agent})
    assert [one.code for one in denied.statuses] == [OVER_LIMIT, OK]


def test_a_denial_says_why(ask):
    ask("basic", {"one_per_day": "x"})
    denied = ask("basic", {"one_per_day": "x"})
    headers = {one.key: one.value for one in denied.response_headers_to_add}
    assert headers["content-type"] == "application/problem+json"
    assert headers["ratelimit"].startswith('"') and "x-ratelimit-limit" not in headers, "Envoy may send that itself"
    assert int(headers["retry-after"]) >= 1
    assert b'"policy_id":"basic/one_per_day"' in denied.raw_body
    assert denied.dynamic_metadata["denied_by"]["policy_id"] == "basic/one_per_day"
    assert denied.dynamic_metadata["denied_by"]["reason"] == "limited"


def test_overrides(ask):
    override = {"entries": {"anything": "x"}, "limit": (2, 4)}
    assert [shown(ask("basic", override).statuses[0]) for _ in range(3)] == [(OK, 1, 2, 4), (OK, 0, 2, 4), (OVER_LIMIT, 0, 2, 4)]
    assert shown(ask("foo", override).statuses[0]) == (OK, 0)


def test_overrides_of_two_units_are_two_limits(ask):
    both = [{"entries": {"user": "x"}, "limit": (5, 4)}, {"entries": {"user": "x"}, "limit": (100, 6)}]
    assert [[shown(one) for one in ask("basic", *both).statuses] for _ in range(2)] == \
        [[(OK, 4, 5, 4), (OK, 99, 100, 6)], [(OK, 3, 5, 4), (OK, 98, 100, 6)]]


def test_an_empty_value_fits_a_lone_star(server, grpc_stub, tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text("""
domain: stars
descriptors:
  - { key: k, value: "a*", rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: k, value: "*", rate_limit: { unit: day, requests_per_unit: 2 } }
  - { key: k, rate_limit: { unit: day, requests_per_unit: 3 } }
""")
    stub = grpc_stub(server(path), SERVICE)
    assert shown(stub.ShouldRateLimit(request("stars", {"k": ""})).statuses[0]) == (OK, 1, 2, 4)


@pytest.mark.parametrize("unit", [0, 7, 8, 127, 128, 2**31 - 1])
@pytest.mark.parametrize("domain", ["basic", "unknown"])
def test_units_that_no_override_has_are_refused(ask, domain, unit):
    with pytest.raises(grpc.RpcError) as refused:
        ask(domain, {"key1": "u"}, {"entries": {"key1": "u"}, "limit": (1, unit)})
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert ask("basic", {"key1": "u"}).statuses[0].limit_remaining == 49


@pytest.mark.parametrize("domain, descriptors, more", [
    ("", [{"key1": "x"}], {}),
    ("basic", [], {}),
    ("basic", [{}], {}),
    ("basic", [{"": "x"}], {}),
    ("basic", [{"key1": "x"}, {"entries": {"key1": "x"}, "limit": (1, 0)}], {}),
    ("basic", [{"key1": "x"}, {"entries": {"key1": "x"}, "limit": (1, 7)}], {}),
    ("basic", [{"key1": "x"}, {"entries": {"key1": "x"}, "limit": (1, 2_000_000_000)}], {}),
    ("basic", [{"key1": str(i)} for i in range(33)], {}),
    ("basic", [{"key1": "x"}] * 101, {}),
    ("basic", [{f"k{i}": "x" for i in range(17)}], {}),
])
def test_bad_requests_are_errors_and_charge_nothing(ask, domain, descriptors, more):
    with pytest.raises(grpc.RpcError) as refused:
        ask(domain, *descriptors, **more)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert refused.value.details()
    assert ask("basic", {"key1": "x"}).statuses[0].limit_remaining == 49


def test_too_many_hits_are_denied_and_charge_nothing(ask):
    """An error would let the request pass Envoy, and hits may come from a header of its client."""
    for descriptors, more in (([{"key1": "x"}, {"entries": {"key1": "x"}, "hits": 2**64 - 1}], {}),
                              ([{"key1": "x"}], {"hits_addend": 2**32 - 1})):
        assert ask("basic", *descriptors, **more).overall_code == OVER_LIMIT
    assert ask("basic", {"key1": "x"}).statuses[0].limit_remaining == 49


def test_tokens_are_for_domains(server, grpc_stub, http, folder, tmp_path):
    node = server(folder, args=[*sqlite(tmp_path), "--require-token"])
    stub = grpc_stub(node, SERVICE)
    with pytest.raises(grpc.RpcError) as refused:
        stub.ShouldRateLimit(request("basic", {"key1": "x"}))
    assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
    wait_until(lambda: "\nsluice_" in node.log(), "the first token is printed")
    token = next(line for line in node.log().splitlines() if line.startswith("sluice_"))
    made = expect(http(node).post("/v1/tokens", {"name": "proxy", "roles": ["check"], "tenants": ["basic"]}, bearer(token)), 201)
    proxy = [("authorization", "Bearer " + made["token"])]
    assert stub.ShouldRateLimit(request("basic", {"key1": "x"}), metadata=proxy).overall_code == OK
    with pytest.raises(grpc.RpcError) as refused:
        stub.ShouldRateLimit(request("another", {"key2": "x"}), metadata=proxy)
    assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED


def test_json(node, http):
    client = http(node)
    body = {"domain": "basic", "descriptors": [{"entries": [{"key": "one_per_day", "value": "json"}]}]}
    first = client.post("/json", body)
    assert first.status == 200 and first.json["overallCode"] == "OK"
    assert first.json["statuses"][0]["currentLimit"] == {"unit": "DAY", "requestsPerUnit": 1}
    second = client.post("/json", body)
    assert second.status == 429 and second.json["statuses"][0]["code"] == "OVER_LIMIT"
    assert second.json["dynamicMetadata"]["denied_by"]["policy_id"] == "basic/one_per_day"
    assert client.post("/json", {"domain": ""}).status == 400


def test_files_are_reloaded_and_bad_ones_refused(node, ask, folder):
    (folder / "third.yaml").write_text("domain: third\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 4 } }]\n")
    wait_until(lambda: ask("third", {"k": "x"}).statuses[0].HasField("current_limit"), "the new file")
    (folder / "fourth.yaml").write_text("domain: third\n")
    node.wait_for_log("is also the domain of")
    assert ask("third", {"k": "x"}).statuses[0].HasField("current_limit"), "the last good files stay in force"


def test_health_knows_it_by_its_old_name(node, grpc_stub):
    health = grpc_stub(node, "grpc.health.v1.Health")
    for name in ("ratelimit", SERVICE):
        assert health.Check(service=name).status == 1
