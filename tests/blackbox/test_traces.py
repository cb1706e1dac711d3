"""Traces: W3C context in, spans out by OTLP. A collector decodes what it gets with OpenTelemetry's field numbers."""

import json
import re
import ssl

import pytest
from harness.admin import metric, sqlite
from harness.collector import SERVER_KIND, Collector, attributes
from harness.rpc import Api
from harness.server import ROOT, wait_until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
POLICIES = """
policies:
  - { id: api.read, tenant: acme, resource: /x, limits: [{ name: user, per: [key], rate: 2/h }] }
  - { id: open, tenant: gone, resource: /x, limits: [{ name: user, per: [key], rate: 2/h }], deadline: 50ms }
"""
CHECK = {"tenant_id": "acme", "resource": "/x", "key": "user_123"}


@pytest.fixture(scope="module")
def otlp(tmp_path_factory):
    return Api(ROOT / "tests/blackbox/otlp", tmp_path_factory.mktemp("otlp"))


@pytest.fixture
def collector(otlp):
    """A factory: collector(answers=…) is a running Collector."""
    running = []

    def start(**options):
        running.append(Collector(otlp, **options))
        return running[-1]

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def traced(server, tmp_path):
    """traced(collector, *args) is a server that exports to it, and samples nothing by itself unless it is told."""
    def start(to, *args, env=None):
        return server(POLICIES, args=["--otlp", to.url, "--trace-sample", "0", *sqlite(tmp_path), *map(str, args)], env=env)
    return start


def check(client, traceparent=None, **fields):
    headers = {"traceparent": traceparent} if traceparent else {}
    return client.post("/v1/ratelimit/check", {**CHECK, **fields}, headers)


def wait_for(collector, count):
    return wait_until(lambda: len(found := collector.spans()) >= count and found, f"{count} spans")


def test_a_sampled_trace_goes_on_in_a_span_that_explains_the_decision(traced, http, collector):
    to = collector()
    client = http(traced(to))
    for _ in range(3):
        assert check(client, SAMPLED, request_id="").status == 200
    spans = wait_for(to, 3)
    assert {(span.trace, span.parent) for span in spans} == {(TRACE, PARENT)}
    assert len({span.span.span_id for span in spans}) == 3
    first, _, denied = spans
    assert first.span.name == "sluice.check" and first.span.kind == SERVER_KIND
    assert first.span.end_time_unix_nano >= first.span.start_time_unix_nano > 0
    assert first.about == {"tenant": "acme", "policy": "api.read", "policy_version": 1, "limit": "user", "reason": "ok",
                           "allowed": True, "degraded": False, "store": "memory", "cost": 1, "remaining": 1}
    assert denied.about["allowed"] is False and denied.about["reason"] == "limited"
    assert not denied.span.status.code, "a denial is no error"
    path, headers, body = to.posts[0]
    assert path == "/v1/traces" and headers["content-type"] == "application/x-protobuf"
    assert b"user_123" not in body, "no key"
    resource = to.messages()[0].resource_spans[0]
    assert attributes(resource.resource.attributes)["service.name"] == "sluice"
    assert resource.scope_spans[0].scope.name == "sluice" and resource.scope_spans[0].scope.version


def test_every_door_takes_the_context(traced, http, grpc_stub, api, collector, tool):
    to = collector()
    node = traced(to)
    client = http(node)
    metadata = (("traceparent", SAMPLED),)
    client.post("/v1/ratelimit/check-batch", {"checks": [CHECK, {**CHECK, "key": "b"}]}, {"traceparent": SAMPLED})
    client.get("/v1/authorize?tenant=acme&resource=/x&key=c", {"traceparent": SAMPLED})
    grpc_stub(node).CheckAndIncrement(tenant_id="acme", resource="/x", dimensions={"key": "d"}, metadata=metadata)
    grpc_stub(node).CheckBatch(checks=[{"tenant_id": "acme", "resource": "/x", "dimensions": {"key": "g"}}], metadata=metadata)
    envoy = grpc_stub(node, "envoy.service.ratelimit.v3.RateLimitService")
    envoy.ShouldRateLimit(domain="acme", descriptors=[{"entries": [{"key": "key", "value": "e"}]}], metadata=metadata)
    h2c = tool("curl", "-s", "--http2-prior-knowledge", "-H", f"traceparent: {SAMPLED}", "-d", json.dumps({**CHECK, "key": "f"}),
               f"{node.url}/v1/ratelimit/check")
    assert h2c.returncode == 0, h2c.stderr
    spans = wait_for(to, 7)
    assert len(spans) == 7 and {span.trace for span in spans} == {TRACE}


def test_what_is_not_sampled_is_not_recorded(traced, http, collector):
    to = collector()
    client = http(traced(to, "--trace-slow", "1h"))
    for traceparent in (None, UNSAMPLED, "00-nonsense-01", SAMPLED.upper()):
        assert check(client, traceparent).status == 200
    assert check(client, SAMPLED).status == 200
    assert len(wait_for(to, 1)) == 1


def test_a_share_of_the_other_requests_begins_a_trace(server, http, collector, tmp_path):
    to = collector()
    client = http(server(POLICIES, args=["--otlp", to.url, "--trace-sample", "1", *sqlite(tmp_path)]))
    for _ in range(5):
        check(client)
    check(client, UNSAMPLED)
    spans = wait_for(to, 5)
    assert len({span.trace for span in spans}) == 5 and not any(span.parent for span in spans)


def test_a_stranger_cannot_make_a_node_hold_memory(server, http, tmp_path):
    node = server(POLICIES, args=["--otlp", "http://127.0.0.1:1", "--threads", "1", *sqlite(tmp_path)])
    client = http(node)
    for _ in range(4):
        client.post("/v1/ratelimit/check-batch", {"checks": [CHECK] * 1000}, {"traceparent": SAMPLED})
    # 2,048 spans may wait, and 512 be in the batch that nobody takes.
    assert metric(client, 'rate_limiter_trace_spans_waiting') <= 2048
    assert metric(client, r'rate_limiter_trace_spans_dropped_total\{reason="queue_full"\}') >= 4000 - 2048 - 512


def test_degraded_checks_always_have_a_span(traced, http, collector, redis):
    to = collector()
    node = traced(to, "--store", redis.url, "--trace-slow", "1h")
    client = http(node)
    wait_until(lambda: check(client, tenant_id="gone").json["degraded"] is False, "the store")
    redis.stop()
    wait_until(lambda: check(client, UNSAMPLED, tenant_id="gone").json["degraded"], "degraded")
    span = wait_for(to, 1)[-1]
    assert span.about["degraded"] is True and span.about["store"] == "redis"
    assert span.about["reason"] == "store_unavailable" and span.span.status.code == 2
    assert span.trace == TRACE, "it is part of the caller's trace, although that is not sampled"


def test_slow_checks_always_have_a_span(traced, http, collector, redis):
    to = collector()
    client = http(traced(to, "--store", redis.url, "--trace-slow", "1ms"))
    wait_until(lambda: check(client).json["degraded"] is False, "the store")

    def slow():
        redis.client.execute_command("CLIENT", "PAUSE", 20, "ALL")
        check(client)
        return [span for span in to.spans() if span.about.get("slow")]

    span = wait_until(slow, "a slow span")[0]
    assert span.span.end_time_unix_nano - span.span.start_time_unix_nano >= 1_000_000


def test_keys_are_pseudonyms_where_there_are_key_secrets(traced, http, collector, write):
    to = collector()
    secrets = write("secrets: [{version: 1, from: 2020-01-01T00:00:00Z, secret: 0123456789abcdef0123456789abcdef}]\n", "secrets.yaml")
    secrets.chmod(0o600)
    client = http(traced(to, "--key-secrets", secrets))
    check(client, SAMPLED)
    check(client, SAMPLED)
    check(client, SAMPLED, key="other")
    keys = [span.about["key"] for span in wait_for(to, 3)]
    assert re.fullmatch("~[0-9a-f]{16}", keys[0]) and keys[0] == keys[1] != keys[2]


def test_the_environment_of_opentelemetry(server, http, collector, tmp_path):
    to = collector()
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": to.url + "/base", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=s3cret%3D",
           "OTEL_SERVICE_NAME": "limits", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=test,service.name=no"}
    node = server(POLICIES, args=["--trace-sample", "1", *sqlite(tmp_path)], env=env)
    check(http(node))
    wait_for(to, 1)
    path, headers, _ = to.posts[0]
    assert path == "/base/v1/traces" and headers["api-key"] == "s3cret="
    about = attributes(to.messages()[0].resource_spans[0].resource.attributes)
    assert about["service.name"] == "limits" and about["deployment.environment"] == "test"
    assert "s3cret" not in node.log()


def test_a_collector_that_is_busy_gets_them_later_and_one_that_refuses_does_not(traced, http, collector):
    to = collector(answers=[(503, {"retry-after": "0"}), (429, {}), (400, {})])
    node = traced(to)
    client = http(node)
    check(client, SAMPLED)
    wait_until(lambda: to.refused == 3, "two retries, and a refusal")
    wait_until(lambda: metric(client, r'rate_limiter_trace_spans_dropped_total\{reason="not_delivered"\}') == 1, "the lost span")
    check(client, SAMPLED)
    assert len(wait_for(to, 1)) == 1
    assert "event=traces.failed" in node.log() and "event=traces.recovered" in node.log()


def test_without_a_collector_checks_go_on_and_the_stop_is_quick(server, http, tmp_path):
    node = server(POLICIES, args=["--otlp", "http://127.0.0.1:1", "--trace-sample", "1", *sqlite(tmp_path)])
    client = http(node)
    for _ in range(20):
        assert check(client).status == 200
    node.wait_for_log("event=traces.failed")
    assert node.stop() == 0


def test_what_waits_at_the_end_is_still_sent(traced, http, collector):
    to = collector()
    node = traced(to)
    client = http(node)
    check(client, SAMPLED)
    assert node.stop() == 0
    assert len(to.spans()) == 1


def test_over_tls(traced, http, collector, authority):
    own = authority.for_servers()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    to = collector(tls=context)
    client = http(traced(to, env={"OTEL_EXPORTER_OTLP_CERTIFICATE": str(authority.file)}))
    check(client, SAMPLED)
    assert wait_for(to, 1)[0].trace == TRACE


@pytest.mark.parametrize("arguments, words", [
    (["--otlp", "collector:4318"], "--otlp"),
    (["--otlp", "http://c:1", "--trace-sample", "2"], "--trace-sample"),
    (["--otlp", "http://c:1", "--trace-slow", "soon"], "--trace-slow"),
])
def test_wrong_settings_are_refused(tool, arguments, words):
    from harness.server import binary
    ended = tool(str(binary()), "serve", "--listen", "127.0.0.1:0", *arguments)
    assert ended.returncode != 0 and words in ended.stderr
