#!/usr/bin/python3
"""Each rule of check.py catches a planted violation, and leaves what is right alone."""

import unittest

import check
import folder_table

# A small repository in which everything is in order.
GOOD = {
    "CMakeLists.txt": "add_subdirectory(src/base)\nadd_subdirectory(src/store)\n",
    "src/base/CMakeLists.txt": "# What all need.\nsluice_module(base SOURCES clock.cc)\n",
    "src/base/clock.h": "#pragma once\n",
    "src/base/clock.cc": '#include "base/clock.h"\nint now() { return clock_gettime(); }\n',
    "src/store/CMakeLists.txt":
        "# Counters.\nsluice_module(store SOURCES shard.cc\n  DEPS sluice_base\n  TESTS shard_test.cc TEST_DEPS sluice_algorithm)\n",
    "src/algorithm/gcra.h": "#pragma once\n",
    "src/store/memory/shard.h": "#pragma once\n",
    "src/store/memory/shard.cc": '#include "store/memory/shard.h"\n#include "base/clock.h"\n// not steady_clock::now()\n',
    "src/store/memory/shard_test.cc": '#include "store/memory/shard.h"\n#include "algorithm/gcra.h"\nrun("gcra.vec");\n',
    "tests/vectors/gcra.vec": "1 2 3\n",
    "docs/requirements.md": "# All of it\n| id | proof |\n|---|---|\n| A1 | `src/store/memory/shard_test.cc` |\n| A2 | not yet |\n",
    "docs/architecture.md": f"# All\n{folder_table.BEGIN}\n| folder | what it is for | may use |\n|---|---|---|\n"
        f"| `src/base` | What all need | – |\n| `src/store` | Counters | base |\n{folder_table.END}\n",
    "README.md": "[all](docs/requirements.md#all-of-it) [docs](docs) [web](https://a.org)\n```\n[no](link)\n```\n",
}

# rule, file, its text, the line that is to be reported
PLANTED = [
    ("layers", "src/store/memory/shard.cc", '#include "store/memory/shard.h"\n#include "engine/engine.h"\n', 2),
    ("layers", "src/store/memory/shard.cc", '#include "store/memory/shard.h"\n#include "algorithm/gcra.h"\n', 2),
    ("layers", "src/store/memory/shard.cc", '#include "shard.h"\n#include "store/memory/shard.h"\n', 1),
    ("layers", "src/net/loop_test.cc", '#include "policy/model.h"\n', 1),
    ("layers", "src/misc/thing.cc", "", 1),
    ("declared_layers", "src/store/CMakeLists.txt", "sluice_module(store\n  DEPS sluice_doors)\n", 2),
    ("declared_layers", "src/net/CMakeLists.txt", "sluice_module(net DEPS sluice_base sluice_store)\n", 1),
    ("real_clocks", "src/store/memory/shard.h", "#pragma once\nauto t = std::chrono::steady_clock::now();\n", 2),
    ("real_clocks", "src/store/memory/shard.h", "#pragma once\n/* a\ncomment */ auto t = time(nullptr);\n", 3),
    ("real_clocks", "src/store/memory/shard_test.cc", "\n\n  gettimeofday(&tv, nullptr);\n", 3),
    ("everything_is_used", "src/base/forgotten.h", "#pragma once\n", 1),
    ("using_is_used", "src/store/memory/shard_test.cc", "\nusing net::Loop;\n// Loop\n", 2),
    ("file_length", "src/store/memory/shard.h", "#pragma once\n" + "\n" * 500, 501),
    ("file_length", "tools/long", "#!/usr/bin/python3\n" + "\n" * 500, 501),
    ("unfinished_work", "src/store/memory/shard.h", "#pragma once\n// TODO later\n", 2),
    ("unfinished_work", "src/store/memory/shard.h", "#pragma once\nTEST(A, DISABLED_b) {}\n", 2),
    ("unfinished_work", "src/store/memory/shard.h", "#pragma once\n#if 0\n", 2),
    ("unfinished_work", "tests/blackbox/a_test.py", "\n@pytest.mark.skip\n", 2),
    ("pragma_once", "src/store/memory/shard.h", "int a;\n", 1),
    ("only_about_itself", "docs/a.md", "\nsee /work/main\n", 2),
    ("only_about_itself", "docs/a.md", "cd /root/sluice\n", 1),
    ("only_about_itself", "tools/fetch", "curl https://pypi.org/simple\n", 1),
    ("only_about_itself", "tools/fetch", "curl https://index.crates.io/a\n", 1),
    ("vectors_are_used", "tests/vectors/alone.vec", "1\n", 1),
    ("requirements_have_tests", "docs/requirements.md", "# All of it\n| A1 | `src/store/gone_test.cc` |\n", 2),
    ("requirements_have_tests", "docs/requirements.md", "# All of it\n| A1 | surely |\n", 2),
    ("requirements_are_complete", "docs/requirements.md", "# All of it\n| A1 | not yet |\n| A3 | not yet |\n", 3),
    ("requirements_are_complete", "docs/requirements.md", "# All of it\n| A1 | not yet |\n| A1 | not yet |\n", 3),
    ("requirements_are_complete", "docs/requirements.md", "# All of it\n| B2 | not yet |\n", 2),
    ("links_resolve", "docs/a.md", "\n[gone](gone.md)\n", 2),
    ("links_resolve", "docs/a.md", "[top](../README.md#nothing)\n", 1),
    ("folder_table_is_current", "docs/architecture.md", f"\n{folder_table.BEGIN}\n{folder_table.END}\n", 2),
    ("folder_table_is_current", "src/net/CMakeLists.txt", "sluice_module(net)\n", 1),
    ("markdown_is_wrapped", "docs/a.md", "\n" + "word " * 25 + "\n", 2),
]

# What looks like a violation and is none.
INNOCENT = [
    ("bench/load.cc", "auto t = std::chrono::steady_clock::now();\n"),
    ("src/base/clock.h", '#pragma once\nauto s = "steady_clock::now()";\n'),
    ("src/store/memory/shard.cc", '#include "store/memory/shard.h"\nusing net::Loop;\nLoop loop;\n'),
    ("tools/temporary", "mktemp /tmp/sluice.XXXXXX\n"),
    ("docs/a.md", "| " + "word " * 25 + "|\n```\n" + "word " * 25 + "\n```\n`" + "word " * 25 + "`\n"),
    ("docs/a.md", "a framework/work/thing, and `[x](y)` in code\n"),
    # Cargo's name for its registry, wherever that is.
    ("clients/Cargo.lock", 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'),
]


class Rules(unittest.TestCase):
    def findings(self, **changed):
        return check.check(check.Repo({**GOOD, **changed["files"]}))

    def test_a_good_repository_has_no_findings(self):
        self.assertEqual(self.findings(files={}), [])

    def test_each_planted_violation_is_found_where_it_is(self):
        for name, path, text, line in PLANTED:
            with self.subTest(rule=name, path=path, text=text[:60]):
                found = [(p, n) for p, n, advice in self.findings(files={path: text}) if advice.endswith(f"[{name}]")]
                self.assertIn((path, line), found)

    def test_what_only_looks_like_a_violation_is_left_alone(self):
        for path, text in INNOCENT:
            with self.subTest(path=path):
                self.assertEqual(self.findings(files={path: text}), [])

    def test_every_rule_has_a_planted_violation(self):
        self.assertEqual({one.__name__ for one in check.RULES}, {name for name, *_ in PLANTED})


if __name__ == "__main__":
    unittest.main()
