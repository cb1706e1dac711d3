"""Every row of tests/vectors, and random ones, against the Lua steps in plain Lua; and proof that the rows would notice."""

import random

import near_misses
import pytest
import steps
import vectors


@pytest.mark.parametrize("algorithm", vectors.ALGORITHMS)
def test_every_row_comes_out_as_written(algorithm, tmp_path):
    rows = vectors.from_file(algorithm)
    assert len(rows) > 20
    assert steps.differences(rows, steps.source(), tmp_path) == []


def test_random_lives_of_a_counter_agree_with_the_reference(tmp_path):
    rows = vectors.at_random(vectors.seed_for_test(), 150)
    assert len(rows) > 1000
    assert steps.differences(rows, steps.source(), tmp_path) == []


def test_divisions_that_nearly_come_out_even_are_exact(tmp_path):
    rows = near_misses.rows(random.Random(vectors.seed_for_test()), 200)
    assert steps.differences(rows, steps.source(), tmp_path) == []
