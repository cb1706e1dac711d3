"""The metadata x-idempotency-key: every gRPC service that checks takes it for a request's id."""

import grpc
import pytest

NATIVE, MR, ALLOW, QUOTA = ("sluice.v1.RateLimiter", "ratelimiter.v1.RateLimiterService", "sluice.compat.v1.Allow",
                            "sluice.compat.v1.Quota")
POLICIES = """
policies:
  - { id: default, resource: /r, limits: [{ per: [user], rate: 10/h }] }
  - { id: d, tenant: d, limits: [{ per: [key], rate: 10/h, algorithm: leaky_bucket }] }
"""


def key(text):
    return [("x-idempotency-key", text)]


@pytest.mark.parametrize("service, method, fields, other, left", [
    (NATIVE, "CheckAndIncrement", {"policy_id": "default", "dimensions": {"user": "u"}, "cost": 1}, {"cost": 2}, "remaining"),
    (QUOTA, "CheckRateLimit", {"identifier": "u", "endpoint": "/r", "cost": 1}, {"cost": 2}, "remaining"),
    (ALLOW, "AllowN", {"key": "u", "n": 1}, {"n": 2}, "remaining"),
    (MR, "ConsumeAndCheckLimit", {"domain": "d", "limit_key": "u", "cost": 1}, {"cost": 2}, "remaining_capacity"),
])
def test_a_key_is_charged_once(server, grpc_stub, service, method, fields, other, left):
    call = getattr(grpc_stub(server(POLICIES), service), method)

    def refused(metadata, **changes):
        with pytest.raises(grpc.RpcError) as error:
            call(**{**fields, **changes}, metadata=metadata)
        return error.value.code(), error.value.details()
    first = getattr(call(**fields, metadata=key("once")), left)
    assert getattr(call(**fields, metadata=key("once")), left) == first, "the first answer comes again"
    code, text = refused(key("once"), **other)
    assert code == grpc.StatusCode.FAILED_PRECONDITION and text.startswith("x-idempotency-key: ")
    code, text = refused(key("k" * 129))
    assert code == grpc.StatusCode.INVALID_ARGUMENT and text.startswith("x-idempotency-key: ")
    second = getattr(call(**fields, metadata=key("twice")), left)
    assert first - 1 <= second < first, "only the first was charged"
