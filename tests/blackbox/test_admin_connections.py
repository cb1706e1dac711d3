"""Admin calls are answered later, by another thread: whatever happens to their connections meanwhile, nothing breaks."""

import concurrent.futures
import json

import pytest
from harness.admin import expect, sqlite
from harness.web import Http


def put_request(number, policy_id="p"):
    body = json.dumps({"id": policy_id, "resource": f"/{policy_id}",
                       "limits": [{"name": "one", "per": ["key"], "rate": f"{number}/h"}]})
    return f"PUT /v1/policies/{policy_id} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}"


@pytest.fixture
def running(server, tmp_path):
    return server(args=sqlite(tmp_path))


def test_who_hangs_up_before_the_answer(running, http, raw):
    for number in range(1, 51):
        raw(running).send(put_request(number)).close()
    client = http(running)
    client.request("PUT", "/v1/policies/q", {"id": "q", "resource": "/q", "limits": [{"rate": "1/s"}]})
    assert client.check(policy_id="q", key="k")["allowed"] is True


def test_pipelined_calls_are_answered_in_order(running, raw):
    connection = raw(running)
    check = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    connection.send("".join(put_request(number) + check for number in range(1, 11)))
    for number in range(1, 11):
        status, headers, body = connection.read_answer()
        assert (status, headers["etag"]) == (201 if number == 1 else 200, f'"{number}"')
        assert json.loads(body)["document"]["limits"][0]["rate"] == f"{number}/h"
        assert connection.read_answer()[0] == 200


def test_many_callers_at_once_get_one_version_each(running):
    def write(caller):
        with Http(running.host, running.port) as client:
            document = {"id": "p", "resource": "/p", "limits": [{"name": "one", "per": ["key"], "rate": f"{caller + 1}/h"}]}
            return [client.request("PUT", "/v1/policies/p", document).json["version"] for _ in range(10)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        versions = [version for list_of_one in pool.map(write, range(8)) for version in list_of_one]
    assert sorted(versions) == list(range(1, 81))


def test_of_many_who_read_and_write_back_none_is_lost(running):
    """Everybody adds one to a number: read, write with If-Match, again after a 412."""
    def add(_):
        with Http(running.host, running.port) as client:
            while True:
                seen = client.get("/v1/policies/p")
                document = seen.json["document"]
                document["limits"][0]["rate"] = f"{int(document['limits'][0]['rate'].split('/')[0]) + 1}/h"
                if client.request("PUT", "/v1/policies/p", document, {"If-Match": seen.headers["etag"]}).status == 200:
                    return
    with Http(running.host, running.port) as client:
        start = {"id": "p", "resource": "/p", "limits": [{"name": "one", "per": ["key"], "rate": "1/h"}]}
        expect(client.request("PUT", "/v1/policies/p", start), 201)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(add, range(40)))
        assert client.check(policy_id="p", key="k", tokens=0)["limit"] == 41


def test_the_server_stops_cleanly_while_calls_are_under_way(running, raw):
    connections = [raw(running).send(put_request(1, f"p{number}")) for number in range(30)]
    assert running.stop() == 0
    answers = [connection.read_to_end() for connection in connections]
    assert all(not answer or answer.startswith(b"HTTP/1.1 ") for answer in answers)


def test_over_http_2(running, tool):
    result = tool("curl", "-s", "--http2-prior-knowledge", "-X", "PUT", f"{running.url}/v1/policies/p", "-w", " %{http_code} %{http_version}",
                  "-d", '{"id":"p","resource":"/p","limits":[{"name":"one","rate":"1/h"}]}')
    assert result.stdout.endswith(" 201 2"), result.stdout
