"""The harness itself, tried on a stand-in server: a harness that notices nothing makes every other test worthless."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import grpc
import pytest
from concurrent import futures

from harness import server as server_module
from harness.rpc import Api, open_channel
from harness.server import ROOT, Server
from harness.web import Http

FAKE = pathlib.Path(server_module.__file__).with_name("fake_sluice.py")


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setenv("SLUICE_BINARY", str(FAKE))
    monkeypatch.setattr(Http, "contract", None)  # the stand-in has paths of its own


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_server_listens_answers_and_stops(server, http, tool):
    one = server(policies="policies: []\n")
    assert one.url == f"http://127.0.0.1:{one.port}"
    assert "1 lines of policies" in one.log()
    client = http(one)
    assert client.get("/healthz").json == {"path": "/healthz"}
    assert client.check(tenant_id="a", key="b") == {"tenant_id": "a", "key": "b"}
    assert tool("curl", "-s", one.url + "/x").stdout == '{"path": "/x"}'
    assert one.stop() == 0
    assert gone(one.pid)


def test_two_servers_have_their_own_ports_and_files(server):
    one, two = server(policies="a: 1\n"), server(policies="b: 2\n")
    assert one.port != two.port
    one.write_policies("a: 3\n")
    two.write_policies("b: 4\n", in_place=True)
    assert one.policy_file.read_text() == "a: 3\n"
    assert two.policy_file.read_text() == "b: 4\n"


def test_a_raw_connection_reads_pipelined_answers(server, raw):
    one = raw(server())
    one.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert one.read_answer()[2] == b'{"path": "/a"}'
    status, headers, body = one.read_answer()
    assert (status, headers["content-type"], body) == (200, "application/json", b'{"path": "/b"}')
    assert one.read_to_end() == b""


def test_a_server_that_cannot_start_is_reported_with_its_log(tmp_path):
    with pytest.raises(RuntimeError, match="fake: cannot start"):
        Server(tmp_path, args=["--misbehave", "crash"])


def test_a_server_that_never_listens_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(server_module, "WAIT_SECONDS", 0.2)
    started = []

    class Watched(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(server_module.subprocess, "Popen", Watched)
    with pytest.raises(TimeoutError):
        Server(tmp_path, args=["--misbehave", "silent"])
    assert gone(started[0].pid)


def test_a_server_that_ignores_sigterm_is_ended_and_reported(tmp_path, monkeypatch):
    one = Server(tmp_path, args=["--misbehave", "stubborn"])
    monkeypatch.setattr(server_module, "WAIT_SECONDS", 0.2)
    with pytest.raises(TimeoutError, match="SIGTERM"):
        one.stop()
    assert gone(one.pid)


def test_a_sanitizer_report_fails_the_stop(tmp_path):
    one = Server(tmp_path, args=["--misbehave", "complain"])
    with pytest.raises(AssertionError, match="sanitizer"):
        one.stop()


INNER = """
    import os, signal

    def remember(one):
        with open("pids", "a") as file:
            print(one.pid, file=file)

    def test_bad_status(server):
        remember(server(args=["--misbehave", "status"]))

    def test_failing(server):
        remember(server())
        assert False

    def test_killed(server):
        remember(server())
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("name, status", [("bad_status", 1), ("failing", 1), ("killed", -signal.SIGKILL)])
def test_a_failing_test_leaves_no_server_behind(tmp_path, name, status):
    (tmp_path / "conftest.py").write_text(pathlib.Path(__file__).with_name("conftest.py").read_text())
    (tmp_path / "harness").symlink_to(FAKE.parent)
    (tmp_path / "inner_test.py").write_text(textwrap.dedent(INNER))
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", name, "inner_test.py"],
                         cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == status, run.stdout
    (pid,) = map(int, (tmp_path / "pids").read_text().split())
    server_module.wait_until(lambda: gone(pid), "the server's end")


PROTO = """
    syntax = "proto3";
    package grpc.health.v1;  // a package that Python has already, with another content
    message Ask { string name = 1; optional int32 cost = 2; map<string, string> dimensions = 3; }
    message Reply { string text = 1; Mood mood = 2; }
    enum Mood { CALM = 0; BUSY = 1; }
    service Oracle {
      rpc Answer(Ask) returns (Reply);
      rpc Watch(Ask) returns (stream Reply);
    }
"""


def test_stubs_come_from_the_proto_files(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/oracle.proto").write_text(textwrap.dedent(PROTO))
    api = Api(tmp_path, tmp_path)
    ask, reply = api.message("grpc.health.v1.Ask"), api.message("grpc.health.v1.Reply")
    assert api.enum("grpc.health.v1.Mood") == {"CALM": 0, "BUSY": 1}

    def answer(request, context):
        if not request.name:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "who?")
        return reply(text=f"{request.name} {request.cost} {dict(request.dimensions)}", mood=1)

    def watch(request, _):
        yield from (reply(text=request.name), reply(text="end"))

    codec = {"request_deserializer": ask.FromString, "response_serializer": reply.SerializeToString}
    handlers = {"Answer": grpc.unary_unary_rpc_method_handler(answer, **codec),
                "Watch": grpc.unary_stream_rpc_method_handler(watch, **codec)}
    backend = grpc.server(futures.ThreadPoolExecutor(2))
    backend.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("grpc.health.v1.Oracle", handlers)])
    port = backend.add_insecure_port("127.0.0.1:0")
    backend.start()
    try:
        with open_channel(f"127.0.0.1:{port}") as channel:
            oracle = api.stub(channel, "grpc.health.v1.Oracle")
            assert oracle.Answer(name="a", cost=3, dimensions={"user": "u"}).text == "a 3 {'user': 'u'}"
            message, call = oracle.Answer.with_call(ask(name="b"))
            assert (message.mood, call.code()) == (1, grpc.StatusCode.OK)
            assert [one.text for one in oracle.Watch(name="w")] == ["w", "end"]
            with pytest.raises(grpc.RpcError) as error:
                oracle.Answer(cost=1)
            assert (error.value.code(), error.value.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "who?")
    finally:
        backend.stop(None).wait()


def test_the_root_is_the_repository():
    assert (ROOT / "CMakePresets.json").exists()
