"""`sluice plan`: a log of yesterday against the policies of tomorrow."""

import gzip
import html.parser
import json
import subprocess

import pytest

from harness.server import ROOT, SANITIZER_REPORT, binary

POLICIES = """
policies:
  - id: api
    resource: /api/*
    limits:
      - { name: burst, per: [user], rate: 2/s }
"""
STRICT = POLICIES.replace("2/s", "1/s")
JSON_LINE = '{"ts":"2026-10-10T12:00:%02dZ","remote_addr":"192.0.2.7","user":"%s","request":"GET %s HTTP/1.1","status":%d}'


def clf(second, user="alice", path="/api/a", status=200, more=""):
    return f'192.0.2.7 - {user} [10/Oct/2026:12:00:{second:02d} +0000] "GET {path} HTTP/1.1" {status} 10{more}'


def combined(*arguments, **options):
    return clf(*arguments, **options, more=' "-" "curl/8"')


@pytest.fixture
def plan(tmp_path):
    """plan(lines, *arguments, policies=…) runs the command: .returncode, .stdout, .stderr."""
    def run(log, *arguments, policies=POLICIES, stdin=None):
        (tmp_path / "policies.yaml").write_text(policies)
        if isinstance(log, list):
            (tmp_path / "access.log").write_text("".join(line + "\n" for line in log))
            log = tmp_path / "access.log"
        done = subprocess.run([binary(), "plan", log, "--policies", tmp_path / "policies.yaml", *map(str, arguments)],
                              capture_output=True, text=True, input=stdin, timeout=120, cwd=tmp_path)
        assert not SANITIZER_REPORT.search(done.stderr), done.stderr
        return done
    return run


@pytest.fixture
def totals(plan):
    """The same, and what the JSON report counts; the exit status must be 0."""
    def run(*arguments, **options):
        done = plan(*arguments, "--output", "json", **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["totals"]
    return run


def counted(answer, *names):
    return tuple(answer[name] for name in names)


# By hand: of 4 at one second 2 pass; a second later both are back.
TRAFFIC = [(0, "alice"), (0, "alice"), (0, "alice"), (0, "alice"), (1, "alice"), (1, "bob")]


@pytest.mark.parametrize("line", [clf, combined, lambda second, user: JSON_LINE % (second, user, "/api/a?x", 200),
                                  lambda second, user: json.dumps({"at": f"2026-10-10T12:00:{second:02d}Z", "tenant_id": "t",
                                                                   "resource": "/api/a", "key": user})],
                         ids=["common", "combined", "json", "events"])
def test_every_format_gives_the_same_decisions(totals, line):
    answer = totals([line(second, user) for second, user in TRAFFIC])
    assert counted(answer, "requests", "allowed", "denied", "newly_denied") == (6, 4, 2, 2)


def test_table_names_key_limit_and_time(plan):
    done = plan([combined(*one) for one in TRAFFIC])
    assert done.returncode == 0 and not done.stderr
    by_limit = done.stdout.split("Denied by limit")[1].splitlines()[2].split()
    assert by_limit[:6] == ["api", "burst", "2/s", "2", "2", "1"]
    by_key = done.stdout.split("Denied by key")[1].splitlines()[2].split()
    assert by_key == ["user", "alice", "api", "burst", "2", "2", "4/s", "2/s", "12:00:00", "12:00:00", "12:00:00"]


def test_the_verdict_comes_first(plan, tmp_path):
    def verdict(log, *arguments):
        return plan(log, *arguments).stdout.splitlines()[0]

    alice = [clf(*one) for one in TRAFFIC]
    assert verdict(alice) == "33.3 % newly denied, 1 key: user alice"
    both = [clf(0, "alice")] * 6 + [clf(0, "bob")] * 3
    assert verdict(both) == "55.6 % newly denied, 2 keys; 80.0 % is user alice"
    assert verdict([clf(0), clf(1)]) == "Nothing is newly denied"
    assert verdict([clf(0, status=429)]) == "Nothing is newly denied; 100.0 % newly allowed"
    assert json.loads(plan(both, "--output", "json").stdout)["keys_newly_denied"] == 2
    assert "<h1 class=\"verdict\">55.6 % newly denied" in plan(both, "--output", "html").stdout


def test_resources_of_one_pattern_are_one_row(plan):
    done = plan([clf(0, path=f"/api/{i}") for i in range(5)])
    rows = done.stdout.split("Denied by resource")[1].splitlines()[2:4]
    assert [row.split()[:3] for row in rows] == [["/api/*", "5", "3"]], done.stdout


def test_against_a_running_server(plan, server, tmp_path):
    node = server(POLICIES + """
  - { id: login, resource: /login, limits: [{ name: once, per: [user], rate: 1/h }] }
""", args=["--policy-db", f"sqlite:{tmp_path}/plan.db"])
    log = [clf(0), clf(0), clf(0, path="/login"), clf(0, path="/login")]
    done = plan(log, "--against", node.url, "--output", "json", policies=STRICT)
    report = json.loads(done.stdout)
    assert counted(report["totals"], "denied", "denied_then", "newly_denied", "newly_allowed") == (2, 1, 1, 0), \
        "the files replace only the policies that they name"
    assert report["against"] == [node.url]
    assert plan(log, "--against", node.url, "--against", "x.yaml").returncode == 2
    assert "cannot connect to" in plan(log, "--against", "http://127.0.0.1:1").stderr


def test_no_progress_without_a_terminal(plan):
    assert plan([clf(0)]).stderr == ""


def test_same_decisions_as_a_server(plan, server, http, tmp_path):
    """Limits so slow that the server's clock does not matter."""
    policies = """
policies:
  - id: day
    tenant: shop
    resource: /buy/*
    limits:
      - { name: user, per: [user], rate: 3/d }
      - { name: all, per: [tenant], rate: 12/d, burst: 8, algorithm: token_bucket }
    costs: { /buy/dear: 2 }
  - { id: hour, resource: /sell, limits: [{ name: region, per: [region], rate: 2/d, algorithm: gcra }] }
"""
    checks = [{"tenant_id": "shop", "resource": f"/buy/{what}", "key": key} for key in ("a", "b", "c", "d", "a", "b")
              for what in ("cheap", "dear")]
    checks += [{"tenant_id": "x", "resource": "/sell", "key": str(i), "dimensions": {"region": "eu"}} for i in range(4)]
    checks += [{"tenant_id": "x", "resource": "/sell", "key": "k", "tokens": 3, "dimensions": {"region": "us"}}]
    asked = http(server(policies)).post("/v1/ratelimit/check-batch", {"checks": checks})
    expected = [[check["resource"], check["key"], answer["policy_id"], answer["limiting"]]
                for check, answer in zip(checks, asked.json["results"]) if not answer["allowed"]]
    assert 0 < len(expected) < len(checks)
    events = [json.dumps({"at": 1791633600000 + i, **check}) for i, check in enumerate(checks)]
    assert plan(events, "--denials", tmp_path / "denials", policies=policies).returncode == 0
    denials = [json.loads(line) for line in (tmp_path / "denials").read_text().splitlines()]
    assert [[one["resource"], one["key"], one["policy_id"], one["limiting"]] for one in denials] == expected


def test_paths_are_those_that_authorize_asks_for(plan, server, http, tmp_path):
    policies = """
policies:
  - { id: search, resource: /search, limits: [{ name: day, per: [user], rate: 3/d, algorithm: fixed_window }] }
  - { id: cafe, resource: /café, limits: [{ name: day, per: [user], rate: 1/d, algorithm: fixed_window }] }
"""
    uris = ["/search", "/%73earch", "//search", "/./search", "/a/../search", "/search?x=1", "http://h/search", "/other", "/caf%C3%A9",
            "/caf%c3%a9#x", "/search/%zz", "/search/%ff", "http://h?x=/search"]
    client = http(server(policies))
    answers = [client.get("/v1/authorize?tenant_id=t&key=u", {"X-Forwarded-Uri": uri}).status for uri in uris]
    assert {200, 400, 429} == set(answers)
    done = plan([clf(second, "u", uri) for second, uri in enumerate(uris)], "--denials", tmp_path / "denials", "--output", "json", policies=policies)
    assert done.returncode == 0, done.stderr
    totals = json.loads(done.stdout)["totals"]
    assert (totals["refused"], totals["denied"]) == (answers.count(400), answers.count(429))
    denials = [json.loads(line)["at"][17:19] for line in (tmp_path / "denials").read_text().splitlines()]
    assert denials == [f"{second:02d}" for second, status in enumerate(answers) if status == 429]


def test_the_tenant_of_the_command_line_is_that_of_events_too(totals, plan):
    policies = "policies: [{ id: p, tenant: shop, limits: [{ name: n, per: [key], rate: 1/d }] }]"
    events = [json.dumps({"at": 1791633600000 + i, "resource": "/x", "key": "u", **more}) for i, more in enumerate([{}, {"tenant_id": "other"}])]
    assert counted(totals(events, "--tenant", "shop", policies=policies), "allowed", "denied") == (1, 1)
    refused = plan(events, "--key", "user", policies=policies)
    assert refused.returncode == 2 and "the events format has no fields for --tenant-from, --key" in refused.stderr


def test_exit_status_for_ci(plan):
    log = [clf(0, "alice") for _ in range(4)] + [clf(second, "bob") for second in range(6)]  # 2 of 10 are denied
    for allowed, status in (("20%", 0), ("19.9%", 1), ("2", 0), ("1", 1), ("0", 1)):
        done = plan(log, "--max-newly-denied", allowed)
        assert done.returncode == status, (allowed, done.stderr)
        assert bool(done.stderr) == (status == 1)
    assert "2 of 10 requests would be newly denied, more than --max-newly-denied 1" in plan(log, "--max-newly-denied", "1").stderr


def test_who_was_denied_then_is_not_new(totals):
    log = [clf(0), clf(0), clf(0, status=429), clf(0, status=503), clf(5, status=429)]
    assert counted(totals(log), "denied", "denied_then", "newly_denied", "newly_allowed") == (2, 2, 1, 1)
    answer = totals(log, "--denied-status", "503")
    assert counted(answer, "denied", "denied_then", "newly_denied", "newly_allowed") == (2, 1, 1, 0)


def test_against_the_policies_of_today(totals, tmp_path):
    (tmp_path / "today.yaml").write_text(STRICT)
    answer = totals([clf(0) for _ in range(4)], "--against", tmp_path / "today.yaml", "--max-newly-denied", "0")
    assert counted(answer, "denied", "denied_then", "newly_denied", "newly_allowed") == (2, 3, 0, 1)


def test_fields_become_tenant_key_cost_and_dimensions(totals):
    policies = """
policies:
  - { id: p, tenant: shop, limits: [{ name: plan, per: [plan, key], rate: 10/m }] }
"""
    line = '{"ts":1791633600,"path":"/x","account":{"shop":"shop","plan":"%s"},"who":"%s","units":%d}'
    log = [line % (plan, who, units) for plan, who, units in
           [("gold", "a", 6), ("gold", "a", 6), ("free", "a", 6), ("gold", "b", 6), ("gold", "b", 4)]]
    answer = totals(log, "--tenant-from", "account.shop", "--map", "plan=account.plan", "--key", "who", "--cost", "units",
                    policies=policies)
    assert counted(answer, "allowed", "denied", "no_policy") == (4, 1, 0)
    answer = totals(log, "--tenant", "other", policies=policies)
    assert counted(answer, "no_policy") == (5,)


def test_several_logs_are_merged_and_gzip_is_read(totals, tmp_path):
    (tmp_path / "one.gz").write_bytes(gzip.compress("".join(clf(second) + "\n" for second in (0, 0, 2, 2)).encode()))
    (tmp_path / "two.log").write_text("".join(clf(second) + "\n" for second in (1, 1, 3, 3)))
    answer = totals(tmp_path / "one.gz", tmp_path / "two.log")
    assert counted(answer, "requests", "denied") == (8, 0)


def test_standard_input(totals):
    answer = totals("-", stdin="".join(clf(*one) + "\n" for one in TRAFFIC))
    assert counted(answer, "requests", "denied") == (6, 2)


def test_small_disorder_is_tolerated_and_told(plan):
    done = plan([clf(5), clf(4), clf(6)], "--output", "json")
    report = json.loads(done.stdout)
    assert report["lines"]["out_of_order"] == 1 and report["lines"]["out_of_order_by_us"] == 1_000_000
    assert "requests are out of order, by up to 1s" in report["notes"][0]


def test_bad_lines_are_counted_and_shown(plan):
    log = [clf(0), "nonsense", clf(1)]
    done = plan(log)
    assert done.returncode == 2
    assert "1 of 3 lines could not be read, more than --max-bad-lines 1%" in done.stderr
    assert "access.log:2  it has no [time]" in done.stdout
    assert plan(log, "--max-bad-lines", "1").returncode == 0
    assert plan(log, "--max-bad-lines", "33.4%").returncode == 0
    assert plan(log, "--max-bad-lines", "33.3%").returncode == 2


@pytest.mark.parametrize("log, arguments, words", [
    ("missing.log", [], "cannot read missing.log: No such file"),
    (["nonsense"], [], "no requests found in 1 lines"),
    ([], [], "no requests found in 0 lines"),
    ([clf(0)], ["--policies", "missing.yaml"], "missing.yaml: can't be read"),
    ([clf(0)], ["--format", "xml"], "xml"),
    ([clf(0)], ["--format", "json"], "expected an object"),
    ([clf(0)], ["--map", "plan"], "write dimension=field"),
    ([clf(0)], ["--key", "nobody"], 'has no field "nobody"'),
    ([clf(0)], ["--max-newly-denied", "few"], "write 25 or 0.1%"),
    ([clf(0)], ["--tenant", "a", "--tenant-from", "host"], "--tenant"),
    ([clf(0)], ["--top", "0"], "--top"),
    ([clf(0)], ["--denied-status", "many"], "--denied-status"),
    (".", [], "cannot read .: Is a directory"),
    ([clf(0)], ["--html", "no/such/folder/x.html"], "cannot write no/such/folder/x.html"),
    ([clf(0)], ["--denials", "no/such/folder/x"], "cannot write no/such/folder/x"),
])
def test_errors_are_one_sentence_and_status_2(plan, log, arguments, words):
    done = plan(log, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") <= 2  # with the hint at --help


def test_bad_policies_are_named(plan):
    done = plan([clf(0)], policies="policies: [{id: a, limits: [{name: n, per: [key], rate: many}]}]")
    assert done.returncode == 2
    assert "policies[0].limits[0].rate" in done.stderr


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order, and collects what is in the page."""

    VOID = {"meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.references = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.references += [value for name, value in attributes if name in ("src", "href")]
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_one_well_formed_file(plan, tmp_path):
    log = [combined(*one) for one in TRAFFIC] + [combined(2, "<script>alert(1)</script>", "/api/<img/src=x>") for _ in range(3)]
    assert plan(log, "--html", tmp_path / "plan.html").returncode == 0
    text = (tmp_path / "plan.html").read_text()
    page = Page(text)
    assert page.tags.count("svg") == 2 and not page.references
    assert "script" not in page.tags and "img" not in page.tags
    assert any("<script>alert(1)</script>" in one for one in page.text)
    assert "prefers-color-scheme: dark" in text and "http:" not in text and "https:" not in text
    assert text == plan(log, "--output", "html").stdout


def test_help_fits_a_screen_and_shows_an_example():
    done = subprocess.run([binary(), "plan", "--help"], capture_output=True, text=True, check=True)
    assert "Example:" in done.stdout and len(done.stdout.splitlines()) <= 40


def test_the_examples_are_good():
    done = subprocess.run([binary(), "plan", ROOT / "examples/plan/access.log", "--policies", ROOT / "examples/plan/policies.yaml",
                           "--output", "json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["totals"]["newly_denied"] > 0


# Who it was can't be told from a report with pseudonyms; that it was the same one can.

def test_pseudonyms(plan, tmp_path):
    log = [clf(0, user) for user in ("alice", "alice", "alice", "alice", "bob", "bob", "bob")]
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text("secrets: [{ version: 1, secret: 0123456789abcdef0123456789abcdef }]\n")
    seen = []
    for arguments in (["--pseudonyms"], ["--pseudonyms"], ["--key-secrets", secrets], ["--key-secrets", secrets]):
        done = plan(log, "--output", "json", "--denials", tmp_path / "denials", "--html", tmp_path / "page", *arguments)
        assert done.returncode == 0, done.stderr
        for text in (done.stdout, (tmp_path / "denials").read_text(), (tmp_path / "page").read_text()):
            assert not any(who in text for who in ("alice", "bob", "192.0.2.7")), text
        seen.append([(key["key"], key["denied"]) for key in json.loads(done.stdout)["keys"]])
    assert [denied for _, denied in seen[0]] == [2, 1]
    assert seen[0][0][0] != seen[1][0][0], "each run has its own names"
    assert seen[2] == seen[3], "unless they share a secret, and a day"
    assert seen[0][0][0] != seen[2][0][0]
