"""`sluice policy import-envoy`: envoyproxy/ratelimit's YAML as policies that limit the same."""

from harness.admin import sqlite
from harness.cli import fails, sluice, works

ENVOY = """
domain: shop
descriptors:
  - { key: path, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: path, value: /healthz }
  - { key: path, value: /login, shadow_mode: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
"""


def test_an_imported_file_limits_as_the_original(server, http, write, tmp_path):
    node = server(args=sqlite(tmp_path))
    out = tmp_path / "imported.yaml"
    assert works("policy", "import-envoy", write(ENVOY, "envoy.yaml"), "-o", out) == ""
    assert works("policy", "validate", out) == f"{out}: valid\n"
    assert works("policy", "import-envoy", write(ENVOY, "envoy.yaml")) == out.read_text()
    works("policy", "apply", out, server=node)
    client = http(node)
    allowed = lambda path, tenant="shop": client.check(tenant_id=tenant, resource=path, key="k")["allowed"]
    assert [allowed("/path/%2Fa") for _ in range(3)] == [True, True, False]
    assert [allowed("/path/%2Fb") for _ in range(3)] == [True, True, False], "each value has its own counter"
    assert [allowed("/path/%2Fhealthz") for _ in range(9)] == [True] * 9
    assert [allowed("/path/%2Flogin") for _ in range(3)] == [True] * 3
    assert [allowed("/path.more/%2Fa/x") for _ in range(3)] == [True] * 3, "a longer descriptor is another one"
    assert [allowed("/path/%2Fa", "other") for _ in range(3)] == [True] * 3


def test_anchors_aliases_and_merge_keys(server, http, write):
    short = write("""
domain: shop
descriptors:
  - { key: a, rate_limit: &usual { unit: hour, requests_per_unit: 2 } }
  - { key: b, rate_limit: *usual }
  - { key: c, rate_limit: { <<: *usual, requests_per_unit: 1 } }
""", "short.yaml")
    long = write("""
domain: shop
descriptors:
  - { key: a, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: b, rate_limit: { unit: hour, requests_per_unit: 2 } }
  - { key: c, rate_limit: { unit: hour, requests_per_unit: 1 } }
""", "long.yaml")
    assert works("policy", "import-envoy", short) == works("policy", "import-envoy", long)
    client = http(server(short))
    ask = lambda key: client.post("/json", {"domain": "shop", "descriptors": [{"entries": [{"key": key, "value": "x"}]}]}).status
    assert [ask("b") for _ in range(3)] == [200, 200, 429]
    assert [ask("c") for _ in range(2)] == [200, 429]


def test_what_an_import_leaves_out_is_told(write):
    path = write("domain: d\ndescriptors:\n  - { key: k, value: '*x', rate_limit: { unit: day, requests_per_unit: 1 } }\n"
                 "  - { key: k, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 1 } }\n")
    done = sluice("policy", "import-envoy", path)
    assert done.returncode == 1 and "resource: /k/{k}" in done.stdout
    assert "wanted.yaml:3: the descriptor \"k=*x\" is dropped, together with 1 limit" in done.stderr
    assert "wanted.yaml:4: descriptors[1].detailed_metric: is ignored" in done.stderr
    assert done.stderr.endswith("sluice: 1 limit was left out; see above\n")


def test_a_bad_file_is_not_imported(write, tmp_path):
    out = tmp_path / "imported.yaml"
    done = sluice("policy", "import-envoy", write("domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: eon, requests_per_unit: 1 } }\n"), "-o", out)
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)
    assert 'wanted.yaml:3: descriptors[0].rate_limit.unit: "eon" is not a unit' in done.stderr
    assert "cannot be written" in fails("policy", "import-envoy", write(ENVOY), "-o", "/nowhere/at/all.yaml")
