"""`sluice policy`: files and the policies of a running server, from the shell."""

import json

import pytest
from harness.admin import expect, sqlite
from harness.cli import Listener, fails, sluice, works

FILED = """
policies:
  - { id: filed, resource: /filed, limits: [{ name: one, per: [key], rate: 10/h }], owner: ops }
"""
TWO = """
policies:
  - id: a
    tenant: shop
    resource: /a
    limits: [{ name: one, per: [key], rate: RATE }]
  - { id: b, resource: /b, limits: [{ name: one, rate: 5/s }] }
"""


@pytest.fixture
def node(server, tmp_path):
    return server(FILED, args=sqlite(tmp_path))


def two(rate="10/h"):
    return TWO.replace("RATE", rate)


def test_apply_shows_a_plan_and_does_it(node, http, write):
    assert works("policy", "apply", write(two()), "--reason", "first", server=node) == """\
+ a
    id: a
    tenant: shop
    resource: /a
    limits:
      - name: one
        per: [key]
        rate: 10/h
+ b
    id: b
    resource: /b
    limits:
      - name: one
        rate: 5/s
2 new, 0 changed, 0 unchanged
in force: a#1, b#1
"""
    assert works("policy", "apply", write(two("20/h")), server=node) == """\
~ a, version 1
    limits[one].rate: 10/h → 20/h
0 new, 1 changed, 1 unchanged
in force: a#2
"""
    assert works("policy", "apply", write(two("20/h")), server=node) == "0 new, 0 changed, 2 unchanged\n"
    entries = expect(http(node).get("/v1/audit"), 200)["entries"]
    assert [(one["name"], one["version"], one.get("reason")) for one in entries] == [("a", 2, None), ("b", 1, "first"), ("a", 1, "first")]
    assert http(node).check(policy_id="a", tenant_id="shop", resource="/a", key="k", tokens=0)["limit"] == 20


def test_a_directory_is_applied_as_a_whole(node, http, write, tmp_path):
    (tmp_path / "dir").mkdir()
    write(two(), "dir/one.yaml")
    write('{"policies": [{"id": "c", "resource": "/b", "limits": [{"rate": "1/s"}]}]}', "dir/two.json")
    done = sluice("policy", "apply", tmp_path / "dir", server=node)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'policies "b" and "c" apply to the same tenant and resource' in done.stderr
    assert "dir is not valid (1 problem); nothing was sent to the server" in done.stderr
    write('{"policies": [{"id": "c", "resource": "/c", "limits": [{"rate": "1/s"}]}]}', "dir/two.json")
    assert works("policy", "apply", tmp_path / "dir", server=node).endswith("in force: a#1, b#1, c#1\n")


def test_a_dry_run_writes_nothing_and_asks_the_server(node, http, write):
    assert works("policy", "apply", write(two()), "--dry-run", server=node).endswith(
        "2 new, 0 changed, 0 unchanged\nthe server would accept this; nothing was written\n")
    assert expect(http(node).get("/v1/audit"), 200)["entries"] == []
    done = sluice("policy", "apply", write("policies: [{ id: x, resource: /filed, limits: [{ rate: 1/s }] }]"), "--dry-run", server=node)
    assert done.returncode == 2 and "filed" in done.stderr, "it would stand in the way of the file's policy"


def test_what_a_file_of_the_server_has_is_not_changed(node, http, write):
    assert works("policy", "apply", write(FILED), server=node) == "0 new, 0 changed, 1 unchanged\n"
    for arguments in ([], ["--dry-run"]):
        done = sluice("policy", "apply", write(FILED.replace("10/h", "20/h")), *arguments, server=node)
        assert done.returncode == 2 and done.stderr.startswith("sluice: the server answers 409"), done


def test_what_denies_everyone_must_be_confirmed(node, write):
    path = write("policies: [{ id: never, limits: [{ rate: 0/s }] }]")
    for arguments in (["--dry-run"], []):
        done = sluice("policy", "apply", path, *arguments, server=node)
        assert done.returncode == 2
        assert done.stderr == ("sluice: policy never would deny every request from every caller; if that is intended, add "
                               "--confirm-denies-everyone\n")
    assert works("policy", "apply", path, "--confirm-denies-everyone", server=node).endswith("in force: never#1\n")


def test_bad_files_are_told_by_line(node, write):
    done = sluice("policy", "apply", write("policies:\n  - id: x\n    limits: [{ rate: -1/s }]\n"), server=node)
    assert done.returncode == 2
    first, last = done.stderr.splitlines()
    assert "wanted.yaml:3: policies[0].limits[0].rate: " in first
    assert last.endswith("wanted.yaml is not valid (1 problem); nothing was sent to the server")
    assert "cannot be read" in sluice("policy", "apply", "/nowhere.yaml", server=node).stderr.replace("can't", "cannot")


def test_more_than_a_body_can_hold_is_refused_at_once(node, write):
    many = [{"id": f"p{i}", "resource": f"/{i}/" + "x" * 1000, "limits": [{"rate": "1/s"}]} for i in range(1100)]
    done = sluice("policy", "apply", write(json.dumps({"policies": many})), server=node)
    assert done.returncode == 2 and "apply them in several steps" in done.stderr


def test_somebody_elses_change_in_between_is_not_overwritten(write):
    """A server that is at version 1 when it is asked, and at version 2 when it is told."""
    seen = []

    def answer(connection):
        request = connection.recv(65536).decode()
        seen.append(request)
        if request.startswith("GET "):
            view = {"id": "a", "version": 1, "source": "api", "document": {"id": "a", "limits": [{"rate": "1/h"}]}}
            status, body = "200 OK", json.dumps({"policies": [view], "next": None})
        else:
            status, body = "412 Precondition Failed", json.dumps({"title": "Precondition Failed", "status": 412, "detail": "policy 'a' is at version 2", "field": "if-match"})
        connection.sendall(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
        connection.close()

    with Listener(answer) as url:
        done = sluice("policy", "apply", write("policies: [{ id: a, limits: [{ rate: 2/h }] }]"), "--server", url)
    assert done.returncode == 2
    assert done.stderr == "sluice: the server answers 412: if-match: policy 'a' is at version 2\n"
    assert 'if-match: "1"' in seen[1].lower()


def test_list(node, write):
    works("policy", "apply", write(two()), server=node)
    assert works("policy", "list", server=node) == """\
POLICY   TENANT  RESOURCE  LIMIT  PER           RATE      BURST  NOTES
a#1      shop    /a        one    key           10/hour   10
b#1      *       /b        one    all together  5/second  5
filed#1  *       /filed    one    key           10/hour   10     file
"""
    rows = works("policy", "list", "--tenant", "shop", server=node).splitlines()
    assert [row.split()[0] for row in rows] == ["POLICY", "a#1"]
    told = json.loads(works("policy", "list", "--output", "json", server=node))["policies"]
    assert [one["id"] for one in told] == ["a", "b", "filed"]
    assert told[1] == {"id": "b", "version": 1, "source": "api", "document": {"id": "b", "resource": "/b", "limits": [{"name": "one", "rate": "5/s"}]}}
    assert "  - id: filed\n    version: 1\n    source: file\n" in works("policy", "list", "--output", "yaml", server=node)


def test_a_long_list_comes_whole(node, write):
    many = [{"id": f"p{i:04}", "resource": f"/{i}", "limits": [{"rate": "1/s"}]} for i in range(2500)]
    works("policy", "apply", write(json.dumps({"policies": many})), server=node)
    assert len(works("policy", "list", server=node).splitlines()) == 2502
    assert works("policy", "apply", write(json.dumps({"policies": many})), server=node) == "0 new, 0 changed, 2500 unchanged\n"


def test_what_is_shown_can_be_applied_again(node, write):
    works("policy", "apply", write(two("10/h")), server=node)
    works("policy", "apply", write(two("20/h")), "--reason", "noon peak", server=node)
    shown = works("policy", "show", "a", server=node)
    assert shown == """\
# a version 2, from the API
policies:
  - id: a
    tenant: shop
    resource: /a
    limits:
      - name: one
        per: [key]
        rate: 20/h
"""
    assert works("policy", "diff", write(shown), server=node) == ""
    assert works("policy", "show", "filed", server=node).startswith("# filed version 1, from a file of the server\n")
    old = json.loads(works("policy", "show", "a", "--version", "1", "--output", "json", server=node))
    assert old["policies"][0]["limits"][0]["rate"] == "10/h"
    assert "put by loopback at 20" in works("policy", "show", "a", "--version", "2", server=node).splitlines()[0]
    heading, newest, oldest = works("policy", "show", "a", "--versions", server=node).splitlines()
    assert heading.split() == ["VERSION", "AT", "ACTION", "ACTOR", "REASON"]
    assert newest.split()[0] == "2" and newest.endswith("put     loopback  noon peak")
    assert oldest.split()[0] == "1"


def test_show_says_what_is_not_there(node, write):
    works("policy", "apply", write(two()), server=node)
    assert fails("policy", "show", "nothing", server=node) == 'sluice: the server answers 404: there is no policy "nothing"'
    assert fails("policy", "show", "a", "--version", "7", server=node).startswith("sluice: policy a has no version 7; ")
    assert "has no policy" in fails("policy", "show", "filed", "--versions", server=node)


def test_diff_of_a_file_has_the_status_of_diff(node, write):
    path = write(two())
    assert "2 new, 0 changed, 0 unchanged" in works("policy", "diff", path, server=node, status=1)
    works("policy", "apply", path, server=node)
    assert works("policy", "diff", path, server=node) == ""
    assert works("policy", "diff", write(two("11/h")), server=node, status=1) == """\
~ a, version 1
    limits[one].rate: 10/h → 11/h
0 new, 1 changed, 1 unchanged
"""
    bad = sluice("policy", "diff", write("policies: {}"), server=node)
    assert bad.returncode == 2


def test_diff_of_versions(node, http, write):
    for rate in ("1/h", "2/h", "3/h", "3/h"):
        expect(http(node).request("PUT", "/v1/policies/a", {"id": "a", "limits": [{"name": "one", "rate": rate}]}), 201 if rate == "1/h" else 200)
    assert works("policy", "diff", "a", server=node) == "", "the last version changed nothing"
    assert works("policy", "diff", "a", "--from", "2", server=node, status=1) == "a, version 2 → 4\n    limits[one].rate: 2/h → 3/h\n"
    assert works("policy", "diff", "a", "--from", "3", "--to", "1", server=node, status=1) == "a, version 3 → 1\n    limits[one].rate: 3/h → 1/h\n"
    assert works("policy", "diff", "a", "--to", "2", server=node, status=1).startswith("a, version 1 → 2\n")
    assert "no version 9" in fails("policy", "diff", "a", "--from", "9", server=node)
    assert "no version before 1" in fails("policy", "diff", "a", "--to", "1", server=node)
    assert "there is no policy" in fails("policy", "diff", "nothing", server=node)
    assert "filed has no version before 1" in fails("policy", "diff", "filed", server=node)


def test_rollback(node, http, write):
    for rate in ("1/h", "2/h", "3/h"):
        works("policy", "apply", write(two(rate)), server=node)
    assert works("policy", "rollback", "a", "--reason", "too much", server=node) == "a, version 4: equal to version 2\n    limits[one].rate: 3/h → 2/h\n"
    assert works("policy", "rollback", "a", "--to", "1", server=node) == "a, version 5: equal to version 1\n    limits[one].rate: 2/h → 1/h\n"
    entry = expect(http(node).get("/v1/audit?action=rollback"), 200)["entries"][-1]
    assert (entry["name"], entry["reason"], entry["version"]) == ("a", "too much", 4)
    assert "no version before 1" in fails("policy", "rollback", "b", server=node)
    assert "no version 99" in fails("policy", "rollback", "a", "--to", "99", server=node)
    assert "has no policy" in fails("policy", "rollback", "filed", server=node)


def test_rollback_brings_a_deleted_policy_back(node, http, write):
    works("policy", "apply", write(two()), server=node)
    expect(http(node).request("DELETE", "/v1/policies/a"), 204)
    assert "is its deletion" in fails("policy", "rollback", "a", "--to", "2", server=node)
    assert works("policy", "rollback", "a", server=node) == "a, version 3: equal to version 1\n"
    assert works("policy", "diff", write(two()), server=node) == ""


def test_ids_with_slashes_and_tenants_with_spaces(node, write):
    path = write("policies: [{ id: a/b+c, tenant: 'my shop', limits: [{ name: n, rate: 1/s }] }]")
    works("policy", "apply", path, server=node)
    assert works("policy", "diff", path, server=node) == ""
    works("policy", "apply", write(path.read_text().replace("1/s", "2/s")), server=node)
    assert works("policy", "diff", "a/b+c", server=node, status=1) == "a/b+c, version 1 → 2\n    limits[n].rate: 1/s → 2/s\n"
    assert "a/b+c" in works("policy", "list", "--tenant", "my shop", server=node)


@pytest.mark.parametrize("command", ["", "validate", "apply", "list", "show", "diff", "rollback", "import-envoy"])
def test_help_fits_a_screen_and_shows_an_example(command):
    text = works("policy", *([command] if command else []), "--help")
    assert len(text.splitlines()) <= 30 and "Example:\n  sluice policy" in text


def test_a_rollout_from_start_to_abort(node, write):
    works("policy", "apply", write(two()), server=node)
    new = write(two("20/h"))
    text = works("policy", "rollout", "start", "a", new, "--stages", "0%:1h,10%:1h,100:1h", "--compare", server=node)
    assert text.startswith("a: running, stage 1 of 3, 0 % of keys, from version 1\n  next       10 % at ")
    text = works("policy", "rollout", "advance", "a", "--reason", "looks good", server=node)
    assert text.startswith("a: running, stage 2 of 3, 10 % of keys, from version 1\n")
    assert works("policy", "rollout", "status", "a", server=node).splitlines()[-2:] == [
        "  live       0 allowed, 0 denied (0.00 %)", "  candidate  0 allowed, 0 denied (0.00 %)"]
    assert "has a running rollout" in sluice("policy", "apply", new, server=node).stderr
    text = works("policy", "rollout", "abort", "a", "--reason", "not today", server=node)
    assert text.startswith("a: aborted, stage 2 of 3, 10 % of keys, from version 1\n  because    not today\n")
    assert json.loads(works("policy", "rollout", "status", "a", "--output", "json", server=node))["state"] == "aborted"
    assert works("policy", "rollout", "status", server=node).startswith("a: aborted")
    assert "no rollout" in fails("policy", "rollout", "status", "b", server=node)


@pytest.mark.parametrize("stages, why", [("10", "PERCENT:HOLD"), ("ten:1h", "PERCENT:HOLD"), ("10:1h,,100:1h", "PERCENT:HOLD"),
                                         ("10:soon", "stages[0].hold"), ("101:1h", "stages[0].percent")])
def test_stages_that_are_none(node, write, stages, why):
    works("policy", "apply", write(two()), server=node)
    assert why in fails("policy", "rollout", "start", "a", write(two("20/h")), "--stages", stages, server=node)


def test_a_candidate_that_is_not_in_the_file(node, write):
    assert "has no policy c" in fails("policy", "rollout", "start", "c", write(two()), server=node)
