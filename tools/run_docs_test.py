#!/usr/bin/python3
"""run_docs.py runs what is shown, accepts what is right and names what is wrong; tried on a stand-in for sluice."""

import os
import pathlib
import tempfile
import textwrap
import unittest

import run_docs

os.environ["SLUICE_BINARY"] = str(run_docs.ROOT / "tests/blackbox/harness/fake_sluice.py")

TRUE = """
    ```console
    $ git clone somewhere && cd sluice
    $ echo "policies: []" > mine.yaml
    $ sluice serve --listen 127.0.0.1:8080 \\
        --policies mine.yaml &
    info: 1 lines of policies
    info: sluice is listening on 127.0.0.1:8080
    $ curl -s 127.0.0.1:8080/v1/ratelimit/check -d '{"key": "a"}'
    {"key": "…"}
    $ curl -s http://localhost:8080/there
    {"path": "/there"}
    ```
    The server is still there, and so are the files.
    ```console
    $ cat > two <<END
    > one
    > two
    > END
    $ cat two; cat mine.yaml; false
    one
    …
    policies: …
    ```
    ```yaml
    # a comment
    policies: []
    ```
    <!-- doctest: skip, because it shows an error -->
    ```yaml
    policies: wrong
    ```
    <!-- doctest: skip, because nobody has that machine -->
    ```console
    $ false
    ```
    ```cpp
    int not_ours;
    ```
"""

# what is shown, the line of the problem, a part of the message
FALSE = [
    ("```console\n$ echo a\nb\n```", 2, "should print\n  b\nbut printed\n  a"),
    ("```console\n$ echo a; echo b\na\n```", 2, "but printed\n  a\n  b"),
    ("```console\n$ echo a…\n…b\n```", 2, "should print"),
    ("```console\n$ true\n$ false\n```", 3, "succeed"),
    ("```console\n$ make run POLICIES=LICENSE\ninfo: 0 lines\n```", 2, "should print"),
    ("```console\n$ sluice serve --misbehave status\n```", 1, "ended with 3"),
    ("text\n```yaml\npolicies: wrong\n```", 3, "unknown field 'wrong'"),
    ("```sh\nls\n```", 2, "```console"),
    ("<!-- doctest: skip, because of this -->\ntext in between\n```console\n$ false\n```", 4, "succeed"),
]


class Docs(unittest.TestCase):
    def run_text(self, text):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "a.md"
            file.write_text(text)
            return run_docs.run_file(file)

    def test_true_examples_pass(self):
        ran, problems = self.run_text(textwrap.dedent(TRUE))
        self.assertEqual(problems, [])
        self.assertEqual(ran, 7)

    def test_false_examples_are_named(self):
        for text, line, message in FALSE:
            with self.subTest(text=text):
                _, problems = self.run_text(text + "\n")
                self.assertEqual(len(problems), 1, problems)
                self.assertRegex(problems[0], rf"a\.md:{line}: ")
                self.assertIn(message, problems[0])

    def test_output_before_the_first_command_is_a_mistake(self):
        with self.assertRaisesRegex(ValueError, "line 2"):
            self.run_text("```console\nsurprise\n```\n")


if __name__ == "__main__":
    unittest.main()
