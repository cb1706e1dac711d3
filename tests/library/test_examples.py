"""The examples of examples/library, built and run against the installed package."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from conftest import EXAMPLES, run
from harness.ports import free_port
from harness.server import DIE_WITH_PARENT, Server


def test_ten_lines_protect_a_function(examples):
    assert run(examples / "protect", cwd=EXAMPLES).splitlines() == ["a report for ann"] * 3 + [
        "refused: all 3 reports of today are used"]


def test_a_gateway_filter_answers_with_headers(examples):
    requests = "shop ann /reports\n" * 4 + "shop ben /reports\nshop ben /unlimited\n"
    answers = run(examples / "gateway_filter", cwd=EXAMPLES, input=requests).splitlines()
    assert [answer.split()[0] for answer in answers] == ["200", "200", "200", "429", "200", "200"]
    assert "RateLimit-Limit: 3 RateLimit-Remaining: 2" in answers[0]
    assert "Retry-After: " in answers[3]
    assert answers[5] == "200"


def test_a_worker_with_many_threads_keeps_the_pace(examples):
    printed = run(examples / "worker", cwd=EXAMPLES)
    assert printed.startswith("jobs: all, threads stopped: 8\n")
    assert 'sluice_checks_total{outcome="allowed"}' in printed


@pytest.fixture
def asio_server(examples):
    """A factory: asio_server(*words) is the port of a running asio_server."""
    started = []

    def start(*words):
        port = free_port()
        process = subprocess.Popen([*DIE_WITH_PARENT, str(examples / "asio_server"), str(port), *words], cwd=EXAMPLES,
                                   stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "listening\n"
        return port

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        process.stdout.close()


def say(port, lines):
    """Sends lines, and returns the answers."""
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rw") as stream:
        answers = []
        for line in lines:
            stream.write(line + "\n")
            stream.flush()
            answers.append(stream.readline().rstrip("\n"))
        return answers


def test_an_asio_server_limits_its_clients(asio_server):
    answers = say(asio_server(), ["one", "two", "three", "four"])
    assert answers[:3] == ["one", "two", "three"]
    assert answers[3].startswith("slow down: ")


def test_asio_servers_share_limits_in_redis(asio_server, redis):
    first, second = asio_server(redis.url), asio_server(redis.url)
    assert say(first, ["one", "two"]) == ["one", "two"]
    answers = say(second, ["three", "four"])
    assert answers[0] == "three" and answers[1].startswith("slow down: ")


def limits_py(prefix, *words, **env):
    env = {**os.environ, "SLUICE_LIBRARY": str(prefix / "lib/libsluice.so.0"), **env}
    return run(sys.executable, EXAMPLES / "limits.py", *words, env=env, cwd=EXAMPLES).splitlines()


def test_python_binds_the_c_interface(prefix):
    assert limits_py(prefix, "policies.yaml", "ann", "/reports") == [
        f"allowed {left} of 3 left (reports#1, user)" for left in (2, 1, 0)] + ["denied 0 of 3 left (reports#1, user)"] * 2


def test_the_library_shares_its_limits_with_a_server(prefix, redis, tmp_path):
    server = Server(tmp_path / "server", EXAMPLES / "policies.yaml",
                    ["--store", redis.url, "--policy-db", f"sqlite:{tmp_path}/sluice.db", "--state-dir", ""])
    try:
        body = json.dumps({"tenant_id": "shop", "resource": "/reports", "key": "ann", "tokens": 2}).encode()
        with urllib.request.urlopen(f"http://{server.address}/v1/ratelimit/check", body) as answer:
            assert json.load(answer)["remaining"] == 1
        printed = limits_py(prefix, "policies.yaml", "ann", "/reports", "shop", SLUICE_REDIS=redis.url)
        assert printed[:2] == ["allowed 0 of 3 left (reports#1, user)", "denied 0 of 3 left (reports#1, user)"]
        assert server.stop() == 0, server.log()
    finally:
        server.kill()
