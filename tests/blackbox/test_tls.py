"""TLS on the server's ports, as clients of all kinds see it."""

import signal
import socket
import ssl
import threading

import grpc
import pytest
from harness.admin import QUICK_END, expect
from harness.certificates import HOUR, Authority
from harness.rpc import open_secure_channel
from harness.server import binary, wait_until

POLICIES = """
policies:
  - id: api
    limits: [{ name: hour, per: [key], rate: 10/h }]
"""
CHECK = {"tenant_id": "shop-1", "resource": "/x", "key": "k"}


@pytest.fixture
def node(tls):
    """A factory: a server with TLS and a policy."""
    return lambda *args, **more: tls(*args, policies=POLICIES, **more)


def metric(client, name):
    lines = client.get("/metrics").body.decode().splitlines()
    return [float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)]


def handshake(server, context):
    """The protocol that client and server agree on; raises ssl.SSLError or OSError if they don't."""
    with socket.create_connection((server.host, server.port), timeout=30) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as sealed:
            sealed.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert sealed.recv(12) == b"HTTP/1.1 200"
            return sealed.version(), sealed.selected_alpn_protocol()


def test_http_and_grpc_over_tls(node, https, authority, api):
    one = node()
    client = https(one)
    assert client.check(**CHECK)["remaining"] == 9
    with open_secure_channel(one.address, authority) as secure:
        stub = api.stub(secure, "sluice.v1.RateLimiter")
        assert stub.CheckAndIncrement(policy_id="api", dimensions={"key": "k"}).remaining == 8
    assert metric(client, 'rate_limiter_tls_handshakes_total{result="ok"}')[0] >= 2
    assert metric(client, "rate_limiter_tls_certificate_expiry_timestamp_seconds")[0] > 1.7e9
    assert any("the TLS certificate in" in one and "; replace it" in one
               for one in client.get("/readyz").json["problems"]), "it ends within the hour"


def test_curl_speaks_both_versions_of_http(node, tool, authority):
    one = node()
    for flag, version in (("--http2", "2"), ("--http1.1", "1.1")):
        got = tool("curl", "-sS", flag, "--cacert", authority.file, "-w", "%{http_version}", "-o", "/dev/null",
                   f"https://127.0.0.1:{one.port}/healthz")
        assert (got.stdout, got.stderr) == (version, "")


@pytest.mark.filterwarnings("ignore:.*TLSv1_1 is deprecated")
def test_versions_and_protocols(node, authority):
    one = node()
    context = authority.trusting()
    assert handshake(one, context) == ("TLSv1.3", None)
    context.set_alpn_protocols(["http/1.1"])
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert handshake(one, context) == ("TLSv1.2", "http/1.1")
    context.set_alpn_protocols(["spdy/3"])
    with pytest.raises(ssl.SSLError, match="ALERT_NO_APPLICATION_PROTOCOL|no application protocol"):
        handshake(one, context)
    old = authority.trusting()
    old.set_ciphers("DEFAULT@SECLEVEL=0")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match="ALERT_PROTOCOL_VERSION|protocol version"):
        handshake(one, old)
    one.wait_for_log("a client could not connect: ")


def test_nobody_speaks_http_at_the_port_of_the_redis_protocol(node, authority):
    one = node("--resp-listen", "127.0.0.1:0")
    port = int(one.wait_for_log(r"Redis protocol on \S+:(\d+)")[1])

    def ping(*protocols):
        context = authority.trusting()
        if protocols:
            context.set_alpn_protocols(protocols)
        with socket.create_connection((one.host, port), timeout=30) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as sealed:
                sealed.sendall(b"PING\r\n")
                return sealed.recv(100)
    assert ping() == b"+PONG\r\n"
    for offered in (["h2"], ["h2", "http/1.1"]):
        with pytest.raises(ssl.SSLError, match="ALERT_NO_APPLICATION_PROTOCOL|no application protocol"):
            ping(*offered)


def test_a_session_is_not_resumed(node, authority):
    one = node()
    context = authority.trusting()
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.maximum_version = version
        with context.wrap_socket(socket.create_connection((one.host, one.port)), server_hostname="localhost") as first:
            first.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            first.recv(1000)
            session = first.session
        assert session is None or not session.has_ticket
        with context.wrap_socket(socket.create_connection((one.host, one.port)), server_hostname="localhost",
                                 session=session) as second:
            assert not second.session_reused


def test_renegotiation_is_refused(node, tool, authority, https):
    one = node()
    asked = tool("openssl", "s_client", "-connect", one.address, "-tls1_2", "-CAfile", authority.file, input="R\n")
    assert "RENEGOTIATING" in asked.stderr and "no renegotiation" in asked.stderr, asked
    assert https(one).get("/healthz").status == 200


def test_one_byte_at_a_time(node, authority):
    one = node()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = authority.trusting().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection((one.host, one.port), timeout=30) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def carry():
            for byte in outgoing.read():
                plain.sendall(bytes([byte]))

        def until_done(step):
            while True:
                try:
                    return step()
                except ssl.SSLWantReadError:
                    carry()
                    incoming.write(plain.recv(1))

        until_done(client.do_handshake)
        client.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        carry()
        assert until_done(lambda: client.read(12)) == b"HTTP/1.1 200"


def test_a_client_that_trusts_somebody_else_goes_away(node, tmp_path, https):
    one = node()
    with pytest.raises(ssl.SSLCertVerificationError):
        https(one, context=Authority(tmp_path, "other").trusting()).get("/healthz")


def test_plain_text_at_the_wrong_port(node, server, http, raw, authority):
    one = node()
    answer = raw(one).send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.read_to_end().endswith(b"\r\n\r\nthis port requires TLS; use https://\n")
    with grpc.insecure_channel(one.address) as plain, pytest.raises(grpc.RpcError) as error:
        plain.unary_unary("/sluice.v1.RateLimiter/CheckAndIncrement")(b"", timeout=10)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    without = server(POLICIES, args=QUICK_END)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        handshake(without, authority.trusting())
    assert http(without).get("/healthz").status == 200


def test_certificates_of_clients(node, tmp_path, authority, https):
    one = node("--tls-client-ca", authority.file)
    good = authority.issue("good", hosts=["good"])
    assert https(one, good).get("/healthz").status == 200
    assert https(one).get("/healthz").status == 200
    other = Authority(tmp_path, "other")
    for bad in (other.issue("foreign", hosts=["good"]), authority.issue("expired", hosts=["good"], ends_in=-HOUR)):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            https(one, bad).get("/healthz")
    one.wait_for_log("a client could not connect: the certificate of 127.0.0.1 is not trusted")
    strict = node("--tls-client-ca", authority.file, "--tls-require-client-cert")
    assert https(strict, good).get("/healthz").status == 200
    with pytest.raises((ssl.SSLError, ConnectionError)):
        https(strict).get("/healthz")


class Load:
    """Requests without end, each on a connection of its own or all on one. `.failures` should stay empty."""

    def __init__(self, ask):
        self.failures, self.done, self.stopping = [], 0, False
        self.thread = threading.Thread(target=self.run, args=(ask,))

    def run(self, ask):
        while not self.stopping:
            try:
                assert ask().status == 200
                self.done += 1
            except Exception as error:  # whatever it is, the test shows it
                self.failures.append(error)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()


def served(one, authorities):
    """Which of the authorities signed what the server shows to new connections."""
    for authority in authorities:
        try:
            handshake(one, authority.trusting())
            return authority
        except ssl.SSLCertVerificationError:
            pass
    return None


def test_a_new_certificate_counts_without_a_restart_and_without_a_failure(node, tmp_path, authority, https):
    own = authority.for_servers()
    one = node(identity=own)
    other = Authority(tmp_path, "other")
    trusts_both = authority.trusting()
    trusts_both.load_verify_locations(other.file)
    kept = https(one)

    def ask_anew():
        with https(one, context=trusts_both) as client:
            return client.get("/healthz")

    with Load(ask_anew) as anew, Load(lambda: kept.get("/healthz")) as on:
        other.for_servers().install_as(own)
        wait_until(lambda: served(one, [authority, other]) is other, "the new certificate")
        before = anew.done, on.done
        wait_until(lambda: anew.done > before[0] + 5 and on.done > before[1] + 5, "more requests")
    assert (anew.failures, on.failures) == ([], [])
    one.wait_for_log("new connections use the new TLS certificate in")


def test_a_broken_certificate_leaves_the_old_one_in_force(node, authority, https):
    own = authority.for_servers()
    one = node(identity=own)
    good = own.certificate.read_bytes()
    own.certificate.write_bytes(good[:100])
    one.signal(signal.SIGHUP)
    one.wait_for_log("server.pem.*; keeping the previous certificate")
    client = https(one)
    assert any("; keeping the previous certificate" in one for one in client.get("/readyz").json["problems"])
    half = authority.for_servers("half", ends_in=30 * 24 * HOUR)
    own.certificate.write_bytes(half.certificate.read_bytes())
    one.wait_for_log("does not belong to the certificate")
    assert https(one).get("/healthz").status == 200
    own.key.write_bytes(half.key.read_bytes())
    wait_until(lambda: client.get("/readyz").json["problems"] == [], "the new pair")


@pytest.mark.parametrize("arguments, sentence", [
    (["--listen", "0.0.0.0:0"], "--listen 0.0.0.0:0 would send tokens and traffic over the network in plain text; "
                                "give --tls-cert and --tls-key, or --allow-plaintext"),
    (["--tls-cert", "x"], "--tls-cert and --tls-key must be given together"),
    (["--tls-cert", "/nowhere", "--tls-key", "x"], "TLS: cannot read /nowhere: No such file or directory"),
    (["--tls-client-ca", "x"], "--tls-client-ca needs --tls-cert and --tls-key"),
    (["--tls-require-client-cert"], "--tls-require-client-cert needs --tls-client-ca"),
    (["--identities", "x"], "--identities needs --tls-client-ca"),
])
def test_what_keeps_it_from_starting(tool, tmp_path, arguments, sentence):
    ended = tool(binary(), "serve", *(["--listen", "127.0.0.1:0"] if "--listen" not in arguments else []), *arguments, cwd=tmp_path)
    assert ended.returncode == 2 and sentence in ended.stderr, ended
    assert ended.stderr.count("\n") == 1, ended


def test_plain_text_beyond_loopback_when_asked_for(server, node, authority, http):
    # A name that the system knows as the loopback, but Sluice does not.
    one = server(POLICIES, args=["--allow-plaintext", *QUICK_END], listen="LOCALHOST:0")
    assert http(one).get("/healthz").status == 200
    expect(http(one).get("/v1/policies"), 401)
    sealed = node(listen="LOCALHOST:0")
    handshake(sealed, authority.trusting())
