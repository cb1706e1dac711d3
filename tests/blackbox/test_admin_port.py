"""--admin-listen: the admin API on a port of its own, and nowhere else. docs/openapi.yaml says what is where."""

import json
import signal
import types

import grpc
import pytest
from harness.admin import bearer, expect, expect_problem, sqlite
from harness.contract import Contract
from harness.server import wait_until
from harness.web import RawConnection

CONTRACT = Contract.load()
POLICY = {"id": "p", "resource": "/p", "limits": [{"name": "one", "per": ["key"], "rate": "10/h"}]}
ON_MAIN, ON_ADMIN = ("checks", "both"), ("admin", "both")
METHODS_OF = {"checks": ["CheckAndIncrement", "CheckBatch"], "both": ["GetUsage"],
              "admin": ["ResetKey", "ConfigurePolicy", "ListPolicies"]}


def admin_port(node):
    """The other port of a server, to connect to."""
    found = node.wait_for_log(r"admin API on (\S+):(\d+)")
    host, port = found[1].strip("[]"), int(found[2])
    return types.SimpleNamespace(host=host, port=port, address=f"{host}:{port}")


@pytest.fixture
def ports(server, tmp_path):
    """The main port and the admin port of one server."""
    node = server(args=[*sqlite(tmp_path), "--admin-listen", "127.0.0.1:0"])
    return node, admin_port(node)


def places():
    """(x-port, method, path) of every operation, with something in place of each parameter."""
    for path, item in CONTRACT.document["paths"].items():
        for operation in CONTRACT.paths[path].values():
            filled = path
            for name in operation.parameters_in("path"):
                filled = filled.replace(f"{{{name}}}", "none")
            yield item.get("x-port", "checks"), operation.method.upper(), filled


def is_there(client, method, path):
    answer = client.request(method, path, "{}" if method in ("POST", "PUT") else None)
    return not (answer.status == 404 and answer.json["detail"] == f"no such path: {path}")


def test_every_path_is_on_its_port_and_only_there(ports, http):
    main, admin = map(http, ports)
    main.contract = admin.contract = None  # which knows one port, with everything
    seen = set()
    for place, method, path in places():
        assert is_there(main, method, path) == (place in ON_MAIN), f"{method} {path} on the main port"
        assert is_there(admin, method, path) == (place in ON_ADMIN), f"{method} {path} on the admin port"
        seen.add(place)
    assert seen == {"checks", "admin", "both"}


def exists(channel, method):
    call = channel.unary_stream(f"/sluice.v1.RateLimiter/{method}", request_serializer=bytes, response_deserializer=bytes)
    try:
        list(call(b"", timeout=30))
    except grpc.RpcError as error:
        return error.code() != grpc.StatusCode.UNIMPLEMENTED
    return True


def test_every_grpc_method_is_on_its_port_and_only_there(ports, api):
    main, admin = (grpc.insecure_channel(port.address) for port in ports)
    with main, admin:
        for place, methods in METHODS_OF.items():
            for method in methods:
                assert exists(main, method) == (place in ON_MAIN), method
                assert exists(admin, method) == (place in ON_ADMIN), method
        for channel in (main, admin):
            assert api.stub(channel, "grpc.health.v1.Health").Check(service="").status == 1
            reflection = api.stub(channel, "grpc.reflection.v1.ServerReflection").ServerReflectionInfo
            request = api.message("grpc.reflection.v1.ServerReflectionRequest")(list_services="")
            services = next(reflection(iter([request]))).list_services_response.service
            assert "sluice.v1.RateLimiter" in [one.name for one in services]


def test_what_is_written_there_is_in_force_here(ports, http, grpc_stub):
    main, admin = map(http, ports)
    assert grpc_stub(ports[1]).ConfigurePolicy(document=json.dumps(POLICY)).policy_version == "p#1"
    assert main.check(policy_id="p", key="k", tokens=4)["remaining"] == 6
    assert admin.get("/v1/usage?policy_id=p&key=k").json["usages"][0]["current"] == 4
    expect(admin.post("/v1/reset", {"policy_id": "p", "key": "k"}), 200)
    assert main.check(policy_id="p", key="k")["remaining"] == 9
    expect(admin.request("PUT", "/v1/switch", {"mode": "open"}), 200)
    assert main.check(policy_id="p", key="k")["reason"] == "switch"


def test_a_deprecated_path_says_so_only_where_it_is(server, http, tmp_path):
    node = server(args=[*sqlite(tmp_path), "--admin-listen", "127.0.0.1:0", "--deprecate", "/v1/rules"])
    main, admin = http(node), http(admin_port(node))
    main.contract = None
    assert "deprecation" in admin.get("/v1/rules").headers
    assert "deprecation" not in main.get("/v1/rules").headers
    assert b'rate_limiter_deprecated_calls_total{path="/v1/rules"} 1' in admin.get("/metrics").body


def test_each_listener_is_judged_by_itself(server, http, tmp_path):
    """The checks' port is open to the world; the admin port is this machine's, and needs no token."""
    node = server(args=[*sqlite(tmp_path), "--admin-listen", "127.0.0.1:0", "--allow-plaintext"], listen="0.0.0.0:0")
    node.host = "127.0.0.1"
    main, admin = http(node), http(admin_port(node))
    expect(admin.request("PUT", "/v1/policies/p", POLICY), 201)
    assert main.check(policy_id="p", key="k")["allowed"] is True
    assert "sluice_" not in node.log(), "nobody needs a first token"


def test_an_admin_port_for_the_world_needs_a_token(server, http, tmp_path):
    node = server(args=[*sqlite(tmp_path), "--admin-listen", "0.0.0.0:0", "--allow-plaintext"])
    root = bearer(node.wait_for_log(r"(sluice_\w{38})")[1])
    port = admin_port(node)
    port.host = "127.0.0.1"
    admin = http(port)
    expect_problem(admin.get("/v1/policies"), 401, "authorization")
    expect_problem(admin.post("/v1/reset", {"policy_id": "p", "key": "k"}), 401, "authorization")
    expect(admin.get("/v1/policies", root), 200)
    assert admin.get("/healthz").status == 200


def test_both_ports_drain(server, http, tmp_path):
    node = server(args=["--policy-db", f"sqlite:{tmp_path}/policies.db", "--drain-notice-ms", "3000", "--drain-seconds", "600",
                        "--admin-listen", "127.0.0.1:0"])
    port = admin_port(node)
    clients = [http(node), http(port)]
    body = json.dumps(POLICY).encode()
    with RawConnection(port.host, port.port) as slow:
        slow.send(b"PUT /v1/policies/p HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10])
        node.signal(signal.SIGTERM)
        for client in clients:
            wait_until(lambda client=client: client.get("/readyz").status == 503, "readyz to turn")
        wait_until(lambda: not accepts(node) and not accepts(port), "both listeners to close")
        slow.send(body[10:])
        assert slow.read_answer()[0] == 201, "a change in flight is made, and answered"
    assert node.stop() == 0


def accepts(port):
    try:
        RawConnection(port.host, port.port, timeout_s=5).close()
        return True
    except OSError:
        return False


@pytest.mark.parametrize("listen, admin, words", [
    ("127.0.0.1:8099", "127.0.0.1:8099", "use the same port"),
    ("0.0.0.0:8099", "127.0.0.1:8099", "use the same port"),
    ("127.0.0.1:0", "nowhere", "--admin-listen nowhere: write HOST:PORT"),
])
def test_what_cannot_be_listened_on(server, tmp_path, listen, admin, words):
    with pytest.raises(RuntimeError, match=words):
        server(args=[*sqlite(tmp_path), "--admin-listen", admin, "--allow-plaintext"], listen=listen)
