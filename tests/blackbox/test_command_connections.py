"""How commands reach a server: tokens, addresses, and servers that are none."""

import pytest
from harness.admin import bearer, expect, sqlite
from harness.cli import Listener, fails, sluice, works

POLICY = "policies: [{ id: p, resource: /p, limits: [{ name: one, rate: 10/h }] }]"


def test_tokens_come_by_three_ways_and_are_never_shown(server, http, write, tmp_path):
    node = server(args=[*sqlite(tmp_path), "--require-token"])
    admin = node.wait_for_log(r"(sluice_\S+)")[1]
    token = expect(http(node).post("/v1/tokens", {"name": "reader", "roles": ["read"]}, bearer(admin)), 201)["token"]
    file = write(token + "\n", "token")
    for way, env in ((["--token", token], {}), (["--token-file", file], {}), ([], {"SLUICE_TOKEN": token}), ([], {"SLUICE_TOKEN_FILE": str(file)})):
        assert works("policy", "list", *way, server=node, env=env).startswith("POLICY")
    done = sluice("policy", "apply", write(POLICY), "--token-file", file, server=node)
    assert done.returncode == 2 and "the server answers 403" in done.stderr and token not in done.stderr
    refused = fails("policy", "list", server=node)
    assert refused.startswith("sluice: the server answers 401") and refused.endswith("give a token with --token-file or SLUICE_TOKEN")
    wrong = "sluice_wrongwrongwrong"
    assert wrong not in fails("policy", "list", "--token", wrong, server=node)
    injected = fails("policy", "list", "--token", "secret\r\nx-evil: 1", server=node)
    assert "control character" in injected and "secret" not in injected
    assert "cannot be read" in fails("policy", "list", "--token-file", "/nowhere", server=node)
    assert "is empty" in fails("policy", "list", "--token-file", write("\n", "none"), server=node)


def test_a_check_takes_a_token_and_a_url(server, http, tmp_path):
    node = server("policies: [{ id: p, limits: [{ name: one, rate: 10/h }] }]", args=[*sqlite(tmp_path), "--require-token"])
    admin = node.wait_for_log(r"(sluice_\S+)")[1]
    assert "the server answers 401" in fails("check", "--policy", "p", server=node)
    assert works("check", "--policy", "p", "--token", admin, server=node) == "allowed: 9 of 10 left (policy p version 1, limit one)\n"
    assert works("check", "--policy", "p", "--server", node.address, env={"SLUICE_TOKEN": admin}).startswith("allowed: 8 of 10")


@pytest.mark.parametrize("url, sentence", [
    ("https://127.0.0.1:1", "cannot connect to 127.0.0.1:1: Connection refused"),
    ("http://ann:secret@127.0.0.1:1", "contains a user or a password"),
    ("127.0.0.1", "has no port"),
    ("http://127.0.0.1:1", "cannot connect to 127.0.0.1:1: Connection refused; start a server with `sluice serve`"),
    ("http://nowhere.invalid:80", "cannot resolve nowhere.invalid:80"),
])
def test_no_server(url, sentence):
    told = fails("policy", "list", "--server", url)
    assert sentence in told and "secret" not in told


@pytest.mark.parametrize("answer, sentence", [
    (b"", "does not speak HTTP/1.1"),
    (b"+PONG\r\n", "does not speak HTTP/1.1"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}", "closed the connection in the middle of its answer"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", "has no field"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{", "without JSON; is it a Sluice server?"),
    (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", "has no field policies; is it a Sluice server of this version?"),
    (b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 6\r\n\r\n<html>", "the server answers 502"),
    (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", "sent a chunked answer"),
])
def test_a_server_that_is_none(answer, sentence):
    def reply(connection):
        connection.recv(65536)
        connection.sendall(answer)
        connection.close()

    with Listener(reply) as url:
        assert sentence in fails("policy", "list", "--server", url)


def test_a_server_that_is_a_flood():
    def reply(connection):
        connection.recv(65536)
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            for _ in range(100):
                connection.sendall(b"x" * 1_000_000)
        except OSError:
            pass
        connection.close()

    with Listener(reply) as url:
        assert "is longer than 33554432 bytes" in fails("policy", "list", "--server", url)
