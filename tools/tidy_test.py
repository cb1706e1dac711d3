#!/usr/bin/python3
"""tools/tidy finds what is planted in sources that compile together, in those that do not, and in headers."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
WRONG = "int add(int x) { return x == x ? 1 : 0; }\n"  # misc-redundant-expression


class Tidy(unittest.TestCase):
    def run_over(self, files, compiled_as_one=()):
        """The lines that tools/tidy prints in a repository of these files, and what it exits with."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name).resolve()
            (root / "tools").mkdir()
            shutil.copy(TOOLS / "tidy", root / "tools")
            shutil.copy(TOOLS.parent / ".clang-tidy", root)
            (root / "build").mkdir()
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            entries = [{"file": str(root / path), "command": f"c++ -I{root}/src -I{root}/bench -std=c++20 -o a.o -c {root / path}"}
                       for path in files if path.endswith(".cc") and path not in compiled_as_one]
            if compiled_as_one:
                unity = root / "build/src/base/Unity/unity_0_cxx.cxx"
                unity.parent.mkdir(parents=True)
                unity.write_text("".join(f'#include "{root / path}"\n' for path in compiled_as_one))
                entries.append({"file": str(unity), "command": f"c++ -I{root}/src -std=c++20 -o a.o -c {unity}"})
            (root / "build/compile_commands.json").write_text(json.dumps(entries))
            run = subprocess.run([root / "tools/tidy", root / "build"], capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            return run.stdout.splitlines(), run.returncode

    def findings(self, files, compiled_as_one=()):
        lines, code = self.run_over(files, compiled_as_one)
        self.assertTrue(all(line.strip() for line in lines))
        found = [line.split(": ")[0].rsplit(":", 1)[0] for line in lines if ": error: " in line]
        self.assertIn(f"clang-tidy: {sum(path.endswith('.cc') for path in files)} sources, {len(found)} findings", lines[-2:])
        self.assertEqual(code, 1 if found else 0)
        return sorted(found)

    def test_sources_in_order_have_no_findings(self):
        self.assertEqual(self.findings({"src/base/a.cc": "int a();\n", "src/base/b.cc": "int b();\n"}), [])

    def test_every_source_of_a_folder_is_read(self):
        self.assertEqual(self.findings({f"src/base/{name}.cc": f"namespace {name} {{\n{WRONG}}}\n" for name in "abc"}),
                         ["src/base/a.cc:2", "src/base/b.cc:2", "src/base/c.cc:2"])

    def test_sources_that_are_compiled_as_one_are_read_too(self):
        files = {f"src/base/{name}.cc": f"namespace {name} {{\n{WRONG}}}\n" for name in "abc"}
        self.assertEqual(self.findings(files, ["src/base/b.cc", "src/base/c.cc"]), ["src/base/a.cc:2", "src/base/b.cc:2", "src/base/c.cc:2"])

    def test_sources_with_the_same_names_are_read_apart(self):
        files = {f"src/{folder}/{name}.cc": f"namespace {{\n{WRONG}}}\n" for folder in ("base", "net") for name in "abc"}
        self.assertEqual(self.findings(files), sorted(f"{path}:2" for path in files))

    def test_a_finding_in_a_header_is_printed_once(self):
        files = {f"src/{folder}/a.cc": '#include "base/a.h"\n' for folder in ("base", "net")}
        self.assertEqual(self.findings({"src/base/a.h": f"#pragma once\nnamespace {{\n{WRONG}}}\n", **files}), ["src/base/a.h:3"])

    def test_the_load_generator_is_read_with_its_headers(self):
        files = {"bench/loadgen/run/a.cc": '#include "loadgen/a.h"\n' + WRONG.replace("add", "sum"),
                 "bench/loadgen/a.h": f"#pragma once\nnamespace {{\n{WRONG}}}\n"}
        self.assertEqual(self.findings(files), ["bench/loadgen/a.h:3", "bench/loadgen/run/a.cc:2"])

    def test_what_is_not_ours_is_not_read(self):
        lines, code = self.run_over({"src/base/a.cc": "", "build/generated/b.cc": WRONG})
        self.assertEqual((lines, code), (["clang-tidy: 1 sources, 0 findings"], 0))

    def test_tests_are_not_read(self):
        lines, code = self.run_over({"src/base/a.cc": "", "src/base/a_test.cc": WRONG})
        self.assertEqual((lines, code), (["clang-tidy: 1 sources, 0 findings"], 0))

    def test_what_does_not_compile_is_a_finding(self):
        self.assertEqual(self.findings({"src/base/a.cc": "int a = ;\n", "src/base/b.cc": "int b = 1;\n"}), ["src/base/a.cc:1"])


if __name__ == "__main__":
    unittest.main()
