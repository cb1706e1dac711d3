"""What was used stays used: looks, tiers, arguments of calls and changes of a policy give nothing back."""

import pytest
from harness.admin import expect
from redis import Redis as RedisClient

ALGORITHMS = ["gcra", "token_bucket", "leaky_bucket", "fixed_window", "sliding_window", "sliding_log"]
WHO = {"tenant_id": "shop", "resource": "/r", "key": "ann"}


def policies(algorithm, rate, tiers=""):
    return f"""
policies:
  - id: api
    deadline: 30s  # however busy the machine is
    limits: [{{ name: day, per: [tenant, key], rate: {rate}/d, algorithm: {algorithm} }}]
    tiers: {{ {tiers} }}
"""


@pytest.fixture(params=["memory", "redis"])
def store(request, redis_server):
    """The arguments of a server with that store."""
    return ["--store", redis_server().url if request.param == "redis" else "memory"]


def admitted(client, times, **more):
    return sum(client.check(**WHO, **more)["allowed"] for _ in range(times))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_look_under_a_small_tier_gives_nothing_back(algorithm, admin, store):
    client = admin(policies(algorithm, 20, "trial: { day: { rate: 1/d } }"), store)
    assert admitted(client, 25) == 20
    for _ in range(2):
        assert expect(client.get("/v1/usage?tenant_id=shop&resource=/r&key=ann&tier=trial"), 200)["usages"][0]["remaining"] == 0
        assert admitted(client, 5) == 0


def test_callers_who_choose_their_tier_get_the_largest(admin, store):
    client = admin(policies("gcra", 20, "a: { day: { rate: 15/d } }, b: { day: { rate: 7/d } }"), store)
    tiers = [{}, {"tier": "a"}, {"tier": "b"}] * 2
    assert sum(admitted(client, 22, dimensions=tier) for tier in tiers) == 20


def test_a_policy_that_is_lowered_and_raised_gives_nothing_back(admin, store):
    client = admin(args=store)

    def put(rate):
        limits = [{"name": "day", "per": ["tenant", "key"], "rate": f"{rate}/d"}]
        assert client.request("PUT", "/v1/policies/api", {"id": "api", "limits": limits}).status in (200, 201)

    put(20)
    assert admitted(client, 25) == 20
    put(10)
    assert admitted(client, 3) == 0
    put(20)
    assert admitted(client, 3) == 0


def test_calls_that_bring_other_numbers_give_nothing_back(server, store):
    running = server(None, ["--resp-listen", "127.0.0.1:0", *store])
    port = int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    with RedisClient(port=port, socket_timeout=60) as client:
        def throttle(*numbers):
            return client.execute_command("CL.THROTTLE", "k", *numbers)[0] == 0

        assert sum(throttle(19, 20, 86400, 1) for _ in range(25)) == 20
        for quantity in (0, 1, 0):
            throttle(10, 7, 60, quantity)
            assert sum(throttle(19, 20, 86400, 1) for _ in range(5)) == 0
