"""Rows may have names, which reads tell and by which rows are deleted."""
import pickle

import numpy as np
import pandas as pd
import pytest

from bayespcn import InvalidError, Memory


@pytest.fixture
def named(rows):
    memory = Memory(dim=30, hidden=(32, 32), shards=2, names=10)
    memory.write(rows[:12], names=[f"row {i}" for i in range(11)] + [None])
    return memory


def test_a_read_says_which_row_answered(named, rows):
    known = np.ones(30, bool)
    known[::3] = False
    assert named.read(rows[:12], known).name == [None] + [f"row {i}" for i in range(1, 11)] + [None]
    assert named.read(rows[5], known).name == "row 5"
    assert named.read(-rows[:12]).name == [None] * 12


def test_the_latest_names_are_kept_with_the_memory(named, tmp_path):
    assert named.names == [f"row {i}" for i in range(1, 11)]
    assert pickle.loads(pickle.dumps(named)).names == named.names
    with Memory.open(tmp_path / "m", "a", dim=3, names=2) as memory:
        memory.write([1.0, 2.0, 3.0], names="\u00e9t\u00e9")
    with Memory.open(tmp_path / "m") as memory:
        assert memory.names == ["\u00e9t\u00e9"]


def test_a_row_is_deleted_by_its_name(named, rows):
    named.delete(name="row 3")
    assert "row 3" not in named.names and named.stats["deletes"] == 1
    with pytest.raises(InvalidError, match="row 3"):
        named.delete(name="row 3")
    with pytest.raises(TypeError):
        named.delete()
    with pytest.raises(TypeError):
        named.delete(rows[0], name="row 4")


def test_rows_of_a_table_have_names_too():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    memory = Memory(columns=frame, names=100)
    memory.write(frame, names=[f"r{i}" for i in range(40)])
    assert memory.names == [f"r{i}" for i in range(40)]
    memory.delete(name="r7")
    assert "r7" not in memory.names and memory.stats["deletes"] == 1


@pytest.mark.parametrize(
    "names, error",
    [(["a"], InvalidError), (["a", 3], TypeError), (["a", ""], InvalidError), (["a", "x" * 64], InvalidError),
     (["a", "b\0c"], InvalidError), (["a", "\ud800"], ValueError), (["a", "b\n"], InvalidError)],
)
def test_names_that_cannot_be_are_refused_and_nothing_is_written(names, error, rows):
    memory = Memory(dim=30, hidden=(8,), shards=1, names=10)
    with pytest.raises(error):
        memory.write(rows[:2], names=names)
    assert memory.rows == 0 and memory.names == []
