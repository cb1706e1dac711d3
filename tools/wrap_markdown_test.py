#!/usr/bin/python3
"""wrap_markdown.py wraps prose, and nothing else."""

import unittest

from wrap_markdown import WIDTH, wrap

LONG = "word " * 40


class Wrapping(unittest.TestCase):
    def test_prose_is_wrapped_and_keeps_its_words(self):
        wrapped = wrap(LONG + "\n")
        self.assertLessEqual(max(map(len, wrapped.splitlines())), WIDTH)
        self.assertEqual(wrapped.split(), LONG.split())

    def test_list_items_are_indented(self):
        first, second, *_ = wrap(f"- {LONG}\n  - {LONG}\n").splitlines()
        self.assertTrue(first.startswith("- word"))
        self.assertTrue(second.startswith("  word"))

    def test_lines_of_one_paragraph_are_joined(self):
        self.assertEqual(wrap("one\ntwo\n\nthree\n"), "one two\n\nthree\n")

    def test_code_is_not_broken(self):
        code = "`" + "a " * 20 + "b`"
        self.assertIn(code, wrap(LONG + code + "\n"))

    def test_no_line_begins_with_what_markdown_would_read(self):
        for word in ("-", "+", "1.", "#", ">"):
            for line in wrap("x " * (WIDTH // 2) + f"{word} y\n").splitlines():
                self.assertFalse(line.startswith(word + " "), line)

    def test_the_rest_stays(self):
        for text in (f"| {LONG}|\n", f"```\n{LONG.strip()}\n```\n", f"## {LONG.strip()}\n", f"<!-- {LONG}-->\n",
                     f"<!-- a\n{LONG.strip()}\n-->\n"):
            self.assertEqual(wrap(text), text)

    def test_wrapping_again_changes_nothing(self):
        once = wrap(f"{LONG}\n\n1. {LONG}\n> {LONG}\n")
        self.assertEqual(wrap(once), once)


if __name__ == "__main__":
    unittest.main()
