"""The Redis protocol: CL.THROTTLE for whoever has a Redis client."""

import itertools
import socket

import pytest
import redis
from harness.admin import bearer, expect
from harness.server import WAIT_SECONDS, wait_until


@pytest.fixture
def door(server):
    """door(args=…) starts a server with a Redis port: (the server, the port)."""
    def start(args=()):
        running = server(None, ["--resp-listen", "127.0.0.1:0", *args])
        return running, int(running.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])
    return start


@pytest.fixture
def connect():
    made = []

    def one(port, **options):
        made.append(redis.Redis(port=port, socket_timeout=WAIT_SECONDS, **options))
        return made[-1]
    yield one
    for each in made:
        each.close()


def throttle(client, key="k", burst=4, count=1, period=3600, quantity=1):
    return client.execute_command("CL.THROTTLE", key, burst, count, period, quantity)


def raw(port, data, until=None):
    """Sends the bytes and reads to the end, or until the text comes."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(data)
        answer = b""
        while until is None or until not in answer:
            piece = connection.recv(65536)
            if not piece:
                break
            answer += piece
        return answer


def test_python_client(door, connect):
    client = connect(door()[1])
    assert client.ping()
    assert throttle(client) == [0, 5, 4, -1, 3600]
    assert throttle(client, quantity=4) == [0, 5, 0, -1, 18000]
    assert throttle(client) == [1, 5, 0, 3600, 18000]
    assert throttle(client, quantity=6) == [1, 5, 0, -1, 18000]
    with pytest.raises(redis.ResponseError, match="unknown command"):
        client.get("k")
    with pytest.raises(redis.ResponseError, match="not an integer"):
        throttle(client, burst="x")
    assert throttle(client, "other") == [0, 5, 4, -1, 3600], "errors end nothing"


def test_a_pipeline_is_answered_in_order(door, connect):
    pipeline = connect(door()[1]).pipeline(transaction=False)
    for i in range(1000):
        pipeline.execute_command("CL.THROTTLE", f"k{i % 2}", 999, 1, 3600)
    assert [answer[2] for answer in pipeline.execute()] == [999 - i // 2 for i in range(1000)]


def test_a_pipeline_is_answered_in_order_when_the_counters_are_in_redis(door, connect, redis_server):
    store = redis_server()
    running, port = door(["--store", store.url])
    client = connect(port)
    wait_until(lambda: store.client.ping() and throttle(client, "warm")[0] == 0 and store.counters() > 0, "the store")
    prefixes = (f"k{attempt}-" for attempt in itertools.count())
    used = []

    def is_answered_in_order():
        """With keys of its own: on a busy machine the store may be too late for a command, which then passes."""
        used.append(next(prefixes))
        pipeline = client.pipeline(transaction=False)
        for i in range(1000):
            pipeline.execute_command("CL.THROTTLE", f"{used[-1]}{i % 2}", 999, 1, 3600)
            pipeline.ping()
        answers = pipeline.execute()
        assert all(answers[1::2])
        return [answer[2] for answer in answers[::2]] == [999 - i // 2 for i in range(1000)]
    wait_until(is_answered_in_order, "answers that the store gave in time")
    second, other = door(["--store", store.url])
    again = connect(other)
    wait_until(lambda: throttle(again, f"{used[-1]}0", 999, quantity=0)[2] == 500, "the shared counter")


@pytest.mark.parametrize("in_redis", [False, True], ids=["memory", "redis"])
def test_a_transaction_is_one_answer(door, connect, redis_server, in_redis):
    """What python's pipeline() sends unless told otherwise."""
    store = redis_server() if in_redis else None
    client = connect(door(["--store", store.url] if store else [])[1])
    if store:
        wait_until(lambda: throttle(client, "warm")[0] == 0 and store.counters() > 0, "the store")

    def left(key):
        pipeline = client.pipeline()
        for _ in range(3):
            pipeline.execute_command("CL.THROTTLE", key, 9, 1, 3600)
        pipeline.ping()
        *answers, pong = pipeline.execute()
        assert pong
        return [answer[2] for answer in answers] + [throttle(client, key, 9)[2]]  # the connection goes on
    keys = (f"k{attempt}" for attempt in itertools.count())
    if store:  # which on a busy machine may be too late for a command
        wait_until(lambda: left(next(keys)) == [9, 8, 7, 6], "answers that the store gave in time")
    else:
        assert left("k") == [9, 8, 7, 6]


def test_a_transaction_may_be_larger_than_the_queue_of_its_store(door, connect, redis_server):
    store = redis_server()
    running, port = door(["--store", store.url])
    client = connect(port)
    wait_until(lambda: throttle(client, "warm")[0] == 0 and store.counters() > 0, "the store")
    pipeline = client.pipeline()
    for i in range(10_000):
        pipeline.execute_command("CL.THROTTLE", f"k{i % 4}", 9_999, 1, 3600)
    answers = pipeline.execute(raise_on_error=False)
    refused = [answer for answer in answers if isinstance(answer, Exception)]
    assert len(answers) == 10_000 and refused == []
    assert all(answer[0] == 0 for answer in answers)


def test_commands_of_a_transaction_wait_for_its_end(door, connect):
    running, port = door()
    assert raw(port, b"MULTI\r\nMULTI\r\nCL.THROTTLE k 4 1 3600\r\nDISCARD\r\nEXEC\r\nQUIT\r\n").splitlines() == [
        b"+OK", b"-ERR MULTI calls can not be nested", b"+QUEUED", b"+OK", b"-ERR EXEC without MULTI", b"+OK"]
    assert throttle(connect(port), "k")[2] == 4, "what was discarded is not charged"


def test_a_command_that_is_refused_spoils_its_transaction(door, connect):
    running, port = door()
    answer = raw(port, b"MULTI\r\nCL.THROTTLE k 1 1 60\r\nNOPE\r\nCL.THROTTLE k\r\nEXEC\r\nCL.THROTTLE k 1 1 60 0\r\nQUIT\r\n")
    ok, queued, unknown, wrong, aborted, *look = answer.split(b"\r\n")
    assert (ok, queued) == (b"+OK", b"+QUEUED")
    assert unknown.startswith(b"-ERR unknown command 'NOPE'") and wrong == b"-ERR wrong number of arguments for 'cl.throttle' command"
    assert aborted.startswith(b"-EXECABORT ") and look[3] == b":2", "nothing was charged"


def test_del_resets_keys_and_is_audited(door, connect, http):
    running, port = door()
    client = connect(port)
    for key in ("a", "b", "c"):
        throttle(client, key, burst=0)
    assert client.delete("a", "b", "nobody") == 2
    assert [throttle(client, key, burst=0, quantity=0)[2] for key in ("a", "b", "c")] == [1, 1, 0]
    log = http(running)
    wait_until(lambda: "cl.throttle" in log.get("/v1/audit").body.decode(), "the entry in the audit log")
    assert '"b"' not in log.get("/v1/audit").body.decode(), "keys are not told"


def test_del_needs_an_operator_and_the_right_port(door, connect, http):
    running, port = door(["--require-token"])
    admin = running.wait_for_log(r"(sluice_\w+)")[1]
    made = http(running).post("/v1/tokens", {"name": "checker", "roles": ["check"]}, bearer(admin))
    checker = connect(port, password=expect(made, 201)["token"])
    throttle(checker)
    with pytest.raises(redis.ResponseError, match="NOPERM|operator"):
        checker.delete("k")
    assert throttle(checker)[2] == 3
    assert connect(port, password=admin).delete("k") == 1
    apart = connect(door(["--admin-listen", "127.0.0.1:0"])[1])
    throttle(apart)
    with pytest.raises(redis.ResponseError, match="admin-listen"):
        apart.delete("k")


def test_a_web_page_that_posts_here_gets_no_word_in(door, connect):
    running, port = door()
    answer = raw(port, b"POST / HTTP/1.1\r\nHost: x\r\n\r\nCL.THROTTLE k 4 1 3600\r\n", until=b"\r\n")
    assert answer == b"-ERR this is the Redis protocol, not HTTP\r\n"
    assert throttle(connect(port), "k")[2] == 4


def test_strangers_use_nothing_up(door, connect):
    running, port = door(["--require-token", "--max-checks-per-second", "100"])
    token = running.wait_for_log(r"(sluice_\w+)")[1]
    assert raw(port, b"CL.THROTTLE k 4 1 3600\r\n" * 300 + b"QUIT\r\n").count(b"-NOAUTH") == 300
    assert throttle(connect(port, password=token)) == [0, 5, 4, -1, 3600]


def test_whoever_brings_many_limits_hurts_only_himself(door, connect, http):
    running, port = door(["--require-token"])
    first = running.wait_for_log(r"(sluice_\w+)")[1]
    admin = http(running)
    made = expect(admin.post("/v1/tokens", {"name": "other", "roles": ["check"]}, bearer(first)), 201)
    greedy, other = connect(port, password=first), connect(port, password=made["token"])

    def brings(client, counts):
        pipeline = client.pipeline(transaction=False)
        for count in counts:
            pipeline.execute_command("CL.THROTTLE", "k", 0, count, 3600, 0)
        return [not isinstance(answer, Exception) for answer in pipeline.execute(raise_on_error=False)]

    assert brings(greedy, range(1, 5001)) == [True] * 4096 + [False] * 904
    assert brings(other, range(4097, 5001)) == [True] * 904, "others have room"
    assert brings(greedy, range(1, 5002)) == [True] * 5000 + [False], "what is known goes on"
    expect(admin.request("PUT", "/v1/switch", {"mode": "open", "reason": "test"}, bearer(first)), 200)
    assert brings(greedy, [5002]) == [True], "the switch lets everything pass"


def test_redis_cli_and_inline_commands(door, tool):
    running, port = door()
    for arguments in ([], ["-3"]):
        done = tool("redis-cli", "-p", port, *arguments, "CL.THROTTLE", "cli", 15, 30, 60)
        assert done.returncode == 0 and done.stdout.split()[:2] == ["0", "16"], done
    assert raw(port, b"PING\r\nCL.THROTTLE typed 15 30 60\nQUIT\r\n") == b"+PONG\r\n*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n+OK\r\n"


def test_redis_benchmark(door, tool):
    running, port = door()
    done = tool("redis-benchmark", "-p", port, "-n", 2000, "-P", 16, "-r", 100, "--csv", "CL.THROTTLE", "key:__rand_int__", 10, 10, 60)
    assert done.returncode == 0 and "Error" not in done.stdout + done.stderr, done
    assert '"CL.THROTTLE' in done.stdout


@pytest.mark.parametrize("data, answer", [
    (b"*1\r\nPING\r\n", b"-ERR Protocol error: expected '$'\r\n"),
    (b"*99999999\r\n", b"-ERR Protocol error: too many arguments; no supported command takes that many\r\n"),
    (b"*1\r\n$-5\r\n", b"-ERR Protocol error: invalid bulk length\r\n"),
    (b"x" * 70_000, b"-ERR Protocol error: too big inline request\r\n"),
])
def test_what_is_broken_is_said_and_ends_the_connection(door, connect, data, answer):
    running, port = door()
    assert raw(port, data) == answer
    assert connect(port).ping(), "others go on"


def test_half_a_command_and_one_byte_at_a_time(door):
    running, port = door()
    command = b"*5\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        connection.sendall(command[:20])  # and gone
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as connection:
        for i in range(len(command)):
            connection.sendall(command[i:i + 1])
        assert connection.recv(100) == b"*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n", "the first half charged nothing"


def test_tokens(door, connect, tool, http):
    running, port = door(["--require-token"])
    token = running.wait_for_log(r"(sluice_\w+)")[1]
    with pytest.raises(redis.AuthenticationError):
        connect(port).ping()
    with pytest.raises((redis.AuthenticationError, redis.ResponseError), match="unknown or expired token"):
        throttle(connect(port, password="sluice_wrong"))
    assert throttle(connect(port, password=token)) == [0, 5, 4, -1, 3600]
    assert throttle(connect(port, username="anybody", password=token)) == [0, 5, 3, -1, 7200]
    assert raw(port, b"HELLO 3 AUTH me %s\r\nQUIT\r\n" % token.encode()).startswith(b"%7\r\n$6\r\nserver")
    answer = raw(port, b"AUTH %s\r\nPING\r\nRESET\r\nPING\r\nQUIT\r\n" % token.encode())
    assert answer.startswith(b"+OK\r\n+PONG\r\n+RESET\r\n-NOAUTH "), "a reset forgets who it was"
    assert "sluice_wrong" not in running.log()


def test_metrics_name_the_checks(door, connect, http):
    running, port = door()
    client = connect(port)
    for _ in range(3):
        throttle(client, burst=1)
    page = http(running).get("/metrics").body.decode()
    assert 'rate_limiter_requests_allowed_total{policy="cl.throttle"} 2' in page
    assert 'rate_limiter_requests_denied_total{policy="cl.throttle"} 1' in page


def test_an_http_client_at_this_port_is_told(door):
    running, port = door()
    assert raw(port, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", until=b"\r\n").startswith(b"-ERR unknown command 'GET'")


def test_it_stops_gracefully(door, connect):
    running, port = door()
    client = connect(port)
    throttle(client)
    assert running.stop() == 0


def test_nothing_listens_unless_asked(server):
    assert "Redis protocol" not in server(None).log()


def test_a_pipelining_client_that_does_not_read(door):
    running, port = door()
    command = b"PING\r\n" * 10_000
    with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
        sent = 0
        try:
            while sent < 500 << 20:  # it must stop reading long before
                sent += connection.send(command)
        except TimeoutError:
            pass
        assert sent < 100 << 20
    assert raw(port, b"PING\r\nQUIT\r\n") == b"+PONG\r\n+OK\r\n"
