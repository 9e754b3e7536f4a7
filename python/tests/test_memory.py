"""A memory does from Python what it does from C, in memory and in a file."""
import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayespcn
from bayespcn import (
    BusyError,
    CorruptError,
    Error,
    FileError,
    FormatError,
    FullError,
    InvalidError,
    Memory,
    ReadOnlyError,
    NotHeldError,
    _bayespcn as raw,
)


def test_written_rows_are_known_and_others_are_new(memory, rows):
    assert set(memory.read(rows).verdict) == {"known"}
    assert set(memory.read(-rows).verdict) == {"new"}
    assert (memory.score(rows) > memory.score(-rows)).all()
    assert (memory.read(rows).shard < 2).all()


def test_a_write_tells_what_became_of_its_rows(rows):
    memory = Memory(dim=30, hidden=(32, 32), shards=1)
    written = memory.write(rows)
    again = memory.write(rows[0])
    assert len(written.energy) == 24 and set(written.verdict) == {"new"} and str(again.verdict) == "known"


def test_rows_with_holes_are_written_as_from_c(rows):
    holes = rows.copy()
    holes[:, ::5] = np.nan
    memory = Memory(dim=30, hidden=(32,), shards=1, threads=1)
    memory.write(holes)
    handle = raw.create({"dim": 30, "hidden": (32,), "threads": 1})
    handle.write(rows, np.ascontiguousarray(~np.isnan(holes)), None, None)
    mean = np.empty((32, 30))
    handle.get_layer(0, 0, 0, mean, None)
    np.testing.assert_array_equal(memory.layer(0)[0], mean)
    with pytest.raises(InvalidError, match="row 1"):
        memory.write(np.array([rows[0], np.full(30, np.nan)]))


def test_typicality_is_a_share_and_low_for_what_is_strange():
    x = np.random.default_rng(0).normal(size=(300, 6))
    memory = Memory(dim=6, hidden=(16,), shards=1, sigma_x=0.5)
    memory.write(x)
    p = memory.typicality(x * 8)
    assert (p <= 0.02).mean() > 0.9
    np.testing.assert_array_equal(memory.read(x * 8, typicality=True).typicality, p)


def test_forget_everything_is_the_empty_memory(memory, rows):
    memory.forget(1)
    np.testing.assert_array_equal(memory.layer(0)[0], Memory(dim=30, hidden=(32, 32), shards=2, seed=7).layer(0)[0])
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(InvalidError, match="beta"):
            memory.forget(wrong)


def test_delete_takes_a_row_back_or_refuses(rows):
    memory = Memory(dim=30, hidden=(32,), shards=1, precision="float64")
    memory.write(rows[:5])
    before = memory.layer(0)[0]
    memory.write(rows[5])
    memory.delete(rows[5])
    np.testing.assert_allclose(memory.layer(0)[0], before, atol=1e-9)  # float64, with the code of the write
    before = memory.layer(0)[0]
    for wrong in (rows[9] * 3, rows[5], rows[[1, 9]], rows[[1, 1]]):  # all or none
        with pytest.raises(NotHeldError):
            memory.delete(wrong)
    np.testing.assert_array_equal(memory.layer(0)[0], before)
    memory.delete(rows[[0, 3, 1]])
    assert memory.stats["deletes"] == 4


def test_codes_explain_rows(memory, rows):
    found = memory.infer(rows, np.ones(30, bool), objective="marginal", noise=0.0)
    assert found.codes.shape == (24, memory.stats["code_dim"])
    assert np.isfinite(memory.energy(rows, found.codes)).all()


def test_samples_are_the_same_for_a_seed(memory):
    np.testing.assert_array_equal(memory.sample(4, seed=3), memory.sample(4, seed=3))
    assert (memory.sample(4, seed=3) != memory.sample(4, seed=4)).any()


def test_parameters_go_out_and_in(memory, rows):
    other = Memory(dim=30, hidden=(32, 32), shards=1, seed=1)
    for layer in (0, 1):
        other.set_layer(layer, *memory.layer(layer))
    other.set_top(*memory.top())
    other.set_weights(memory.weights())
    for layer in (0, 1):
        np.testing.assert_allclose(other.layer(layer)[1], memory.layer(layer)[1], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(other.layer(layer)[0], memory.layer(layer)[0])
    with pytest.raises(InvalidError, match="no layer 2"):
        memory.layer(2)
    with pytest.raises(InvalidError, match="mean has 3 entries"):
        other.set_layer(0, np.zeros(3))
    with pytest.raises(InvalidError):
        memory.layer(0, shard=9)


def test_shards_are_set_as_others_were_written(memory, rows):
    other = Memory(dim=30, hidden=(32, 32), shards=2, seed=7)
    other.set_shards([20, 4], 1)
    assert other.rows == 24 and other.stats["shards"] == 2 and other.fullness == memory.fullness
    for wrong in ([-1], [2**70], [1, 2, 3]):
        with pytest.raises(InvalidError):
            other.set_shards(wrong, 0)
    with pytest.raises(TypeError):
        other.set_shards(["a"], 0)
    assert other.rows == 24


def test_a_full_memory_can_refuse():
    memory = Memory(dim=3, hidden=(4,), shards=1, shard_rows=2, when_full="refuse")
    with pytest.raises(FullError) as error:
        memory.write(np.eye(3))
    assert error.value.written == 2 == memory.rows and memory.fullness == 1


def test_copies_and_pickles_are_the_same_to_the_bit_and_apart(memory, rows):
    for twin in (memory.copy(), copy.copy(memory), copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        np.testing.assert_array_equal(twin.score(rows), memory.score(rows))
        twin.forget(1)
        assert twin.shape == memory.shape
    assert set(memory.read(rows).verdict) == {"known"}
    pictures = pickle.loads(pickle.dumps(Memory(shape=(4, 5, 6, 7), pixels=(0, 9))))
    assert pictures.shape == (4, 5, 6, 7) and pictures._layout.pixels == (0, 9)


def test_repr_tells_shape_rows_and_fullness(memory):
    assert repr(memory) == "<Memory: rows of 30, 24 written, 38 % full, 2 shards of 32x32>"
    assert "png" in Memory(shape=(4, 4, 3))._repr_html_() and "24 written" in memory._repr_html_()
    memory.close()
    assert repr(memory) == "<Memory: closed>" and "closed" in memory._repr_html_()


def test_use_after_close_is_an_error_and_closing_twice_is_not(memory, rows):
    memory.close()
    memory.close()
    assert memory.closed
    for use in (memory.read, memory.write, memory.score, memory.infer):
        with pytest.raises(InvalidError, match="closed"):
            use(rows)
    with pytest.raises(InvalidError, match="closed"):
        memory.stats
    with pytest.raises(InvalidError, match="closed"):
        pickle.dumps(memory)


# ---- files


def test_a_file_keeps_what_was_written_and_the_shape(tmp_path, rows):
    path = tmp_path / "a.mem"
    with Memory.open(path, "a", shape=(5, 6), hidden=(32,), shards=1) as memory:
        memory.write(rows.reshape(-1, 5, 6))
        density = memory.score(rows.reshape(-1, 5, 6))
    with Memory.open(str(path)) as memory:
        assert memory.shape == (5, 6) and memory.rows == 24 and memory.file["sealed"] == 1
        np.testing.assert_array_equal(memory.score(rows.reshape(-1, 5, 6)), density)
        with pytest.raises(ReadOnlyError):
            memory.write(rows.reshape(-1, 5, 6))
        with pytest.raises(TypeError, match="lives in"):
            pickle.dumps(memory)
        memory.copy().write(rows.reshape(-1, 5, 6))
    with Memory.open(path, "r+", sync="call") as memory:
        memory.write(rows[0].reshape(5, 6))
        memory.checkpoint()
        memory.sync()
        with pytest.raises(BusyError):
            Memory.open(path, "r+")
    assert Memory.load(path).rows == 25
    with Memory.open(path, "a", shape=(5, 6), hidden=(9,)) as memory:  # the file has its own options
        assert memory.rows == 25 and memory.options["hidden"] == (32,)
    with pytest.raises(InvalidError, match="have the shape"):
        Memory.open(path, "a", dim=30)
    info, options = bayespcn.file_check(path)
    assert info["writes"] == 25 and options["hidden"] == (32,)


def test_save_and_load_are_the_same_to_the_bit(tmp_path, memory, rows):
    memory.save(tmp_path / "b.mem")
    np.testing.assert_array_equal(Memory.load(tmp_path / "b.mem").score(rows), memory.score(rows))


def test_errors_of_files_are_os_errors_and_say_which(tmp_path):
    with pytest.raises(OSError, match="missing.mem"):
        Memory.open(tmp_path / "missing.mem")
    with pytest.raises(FileError):
        Memory(dim=2).save(tmp_path / "no" / "folder.mem")
    (tmp_path / "text").write_text("not a memory at all, but long enough to have a header of its own " * 20)
    with pytest.raises(FormatError):
        Memory.load(tmp_path / "text")
    Memory(dim=2, hidden=(4,)).save(tmp_path / "bad.mem")
    content = bytearray((tmp_path / "bad.mem").read_bytes())
    content[-100] ^= 0xFF
    (tmp_path / "bad.mem").write_bytes(content)
    with pytest.raises(CorruptError):
        Memory.load(tmp_path / "bad.mem")
    report, sentences = bayespcn.file_recover(tmp_path / "bad.mem", tmp_path / "good.mem")
    assert report["lost_shards"] + report["lost_note"] + len(sentences) >= 1
    for wrong in ("w", "rb"):
        with pytest.raises(InvalidError, match="mode"):
            Memory.open(tmp_path / "bad.mem", wrong)
    with pytest.raises(TypeError, match='mode "a"'):
        Memory.open(tmp_path / "bad.mem", "r", dim=3)
    with pytest.raises(ValueError):
        Memory.open("nul\0in.mem")


def test_every_error_is_an_error_with_its_status():
    classes = [getattr(bayespcn, name) for name in bayespcn.__all__ if name.endswith("Error") and name != "Error"]
    assert all(issubclass(c, Error) for c in classes)
    assert sorted(c.status for c in classes) == list(range(1, len(classes) + 1)) and len(classes) >= 14
    assert InvalidError.status_name == "invalid" and FullError.status_name == "full"
    assert issubclass(bayespcn.NoMemoryError, MemoryError) and issubclass(bayespcn.NumericError, ArithmeticError)


# ---- names


def test_names_are_kept_told_and_deleted_by(rows):
    memory = Memory(dim=30, hidden=(32, 32), shards=1, names=3)
    memory.write(rows[:4], names=["a", "b", None, "ü"])
    memory.write(rows[4], names="last")
    memory.write(rows[5])
    assert memory.names == ["b", "ü", "last"]
    assert memory.read(rows[:6]).name == [None, "b", None, "ü", "last", None]
    assert memory.read(rows[4]).name == "last" and memory.read(-rows[4]).name is None
    assert [twin.names for twin in (memory.copy(), pickle.loads(pickle.dumps(memory)))] == [memory.names] * 2
    number = memory.read(rows[3]).info["name"]
    assert memory._handle.get_name(int(number))[:2] == ("ü", number)
    memory.delete(name="ü")
    assert memory.names == ["b", "last"]
    with pytest.raises(InvalidError):
        memory.delete(name="ü")
    with pytest.raises(InvalidError):
        memory._handle.get_name(int(number))
    for wrong in ({}, {"x": rows[0], "name": "b"}):
        with pytest.raises(TypeError, match="by rows or by a name"):
            memory.delete(**wrong)


def test_names_that_cannot_be_are_refused_and_nothing_is_written(rows):
    memory = Memory(dim=30, hidden=(32,), shards=1, names=3)
    for names, sentence in ((["a"], "1 names for 2 rows"), (["a", "n\0l"], "zero byte"), (["a", "x" * 64], ""), (["a", ""], "")):
        with pytest.raises(InvalidError, match=sentence):
            memory.write(rows[:2], names=names)
    with pytest.raises(TypeError):
        memory.write(rows[:2], names=["a", 7])
    with pytest.raises(TypeError, match="sequence of names"):
        memory._handle.write(rows[:2], None, None, None, "ab")
    with pytest.raises(InvalidError, match="1 names for 2 rows"):
        memory._handle.write(rows[:2], None, None, None, ["a"])
    assert memory.rows == 0 and memory.names == []


def test_rows_of_a_table_keep_their_names():
    x = np.random.default_rng(0).normal(size=(40, 3))
    memory = Memory(columns={name: "number" for name in "abc"}, names=40)
    memory.write(x, names=[f"row {k}" for k in range(40)])
    assert memory.names == [f"row {k}" for k in range(40)]


@pytest.mark.parametrize("dim", [20, 60, 100, 300])
def test_random_rows_of_any_length_are_recalled_from_their_halves(dim):
    rng = np.random.default_rng(dim)
    rows, others = rng.normal(size=(2, 300, dim))
    memory = Memory(dim=dim)
    memory.write(rows)
    half = np.arange(dim) < dim // 2
    answer = memory.read(rows, half)
    assert np.mean(answer.verdict == "known") > 0.97 and np.abs(answer.x - rows).max(axis=1).mean() < 0.1
    assert np.mean(memory.read(others, half).verdict == "known") < 0.03  # none of 1000 when the width was chosen


def test_bytes_as_floats_are_learnt_in_their_own_scale():
    pictures = np.random.default_rng(0).integers(0, 256, (30, 28, 28)).astype(float)
    memory = Memory(shape=(28, 28))
    memory.write(pictures)
    gaps = pictures.copy()
    gaps[:, 14:] = np.nan
    answer = memory.read(gaps)
    assert (answer.verdict == "known").all() and np.abs(answer.x - pictures).max() < 0.5  # rounds to the same bytes
    assert 60 < memory.scale[1] < 80  # 256 / sqrt(12) is 74


def test_a_value_of_another_scale_is_refused_or_clipped():
    rows = np.random.default_rng(0).normal(size=(50, 60))
    rows[3, 7] = 1e6
    memory = Memory(dim=60)
    with pytest.raises(bayespcn.InvalidError, match="row 3, entry 7 is 1e.06, more than 100 scales"):
        memory.write(rows)
    assert memory.rows == 0
    clipped = Memory(dim=60, clip=True)
    clipped.write(rows)
    assert (clipped.read(rows[10:], np.arange(60) < 30).verdict == "known").all()


def test_where_nothing_can_be_told_a_warning_says_what_could():
    memory = Memory(dim=20, hidden=(64,) * 3)
    rows = np.random.default_rng(0).normal(size=(64, 20))
    memory.write(rows)
    with pytest.warns(UserWarning, match=r"layers of 64 units explain 10 known entries.*hidden=\(5,\) \* 3"):
        memory.read(rows[5], np.arange(20) < 10)


def test_deleting_several_rows_is_all_or_nothing():
    rows = np.random.default_rng(0).normal(size=(6, 40))
    memory = Memory(dim=40)
    memory.write(rows[:5])
    with pytest.raises(bayespcn.NotHeldError, match="row 2"):
        memory.delete([rows[0], rows[1], rows[5]])
    assert len(memory) == 5
    memory.delete([rows[0], rows[1]])
    assert len(memory) == 3 and rows[0] not in memory and rows[2] in memory


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: Memory(dim=20, hidden=64), "hidden is 64, but must have a width for each layer"),
        (lambda m: Memory(pd.DataFrame({"x": [1.0]})), "columns=frame"),
        (lambda m: Memory(shape=28), r"shape is 28, .*such as \(28, 28\)"),
        (lambda m: Memory(dim=4.7), "dim is 4.7, but must be a whole number"),
        (lambda m: Memory(dim=20, sigmax=1), "no option 'sigmax'"),
        (lambda m: m.read(row for row in np.eye(20)), "generator"),
        (lambda m: m.write(sparse.csr_matrix(np.eye(20))), "sparse"),
        (lambda m: m.write([[1.0, 2.0], [1.0]]), "different lengths"),
        (lambda m: m.write([["a"] * 20]), "array of <U1"),
        (lambda m: m.read(None), "not NoneType"),
        (lambda m: m.read(np.eye(20), noise=-1), "noise is -1"),
        (lambda m: m.read(np.eye(20), shards=999), "shards is 999, but the memory has 171"),
        (lambda m: m.sample(-1), "n is -1"),
    ],
)
def test_what_cannot_be_meant_is_said_in_the_callers_words(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call(Memory(dim=20))


def test_generators_memory_maps_and_arrays_write_the_same(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).normal(size=(600, 30)).astype(np.float32)
    rows[5, 3] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    whole, parts, stream, blocks = (Memory(dim=30, names=4, threads=1) for _ in range(4))
    names = [str(k) for k in range(600)]
    whole.write(rows, names=names)
    assert len(stream.write((row for row in rows), names=names).energy) == 600
    blocks.write(iter([rows[:256], rows[256:512], rows[512:]]), names=names)
    monkeypatch.setattr("bayespcn.memory.BYTES_AT_ONCE", 256 * 30 * 4)
    seen = []
    parts.write(np.load(tmp_path / "rows.npy", mmap_mode="r"), names=names, progress=lambda done, n: seen.append((done, n)))
    assert seen == [(256, 600), (512, 600), (600, 600)]
    for memory in (parts, stream, blocks):
        assert memory.names == whole.names
        np.testing.assert_array_equal(memory.read(rows[:50]).x, whole.read(rows[:50]).x)
    rows[599, 0] = np.inf  # all rows are looked at first
    with pytest.raises(bayespcn.InvalidError, match="row 599"):
        parts.write(rows)
    assert parts.rows == 600


def test_a_read_tells_its_progress():
    memory = Memory(dim=30)
    memory.write(np.eye(30))
    rows, seen = np.zeros((700, 30)), []
    rows[::2, 3] = np.nan
    memory.read(rows, progress=lambda done, n: seen.append((done, n)))
    assert seen[-1] == (700, 700) and [done for done, _ in seen] == sorted(done for done, _ in seen) and len(seen) > 2


def test_no_width_is_advised_where_none_could_tell():
    memory = Memory(dim=1)
    memory.write([[0.5], [0.7]])
    with pytest.warns(UserWarning, match="explain 1 known entries, whatever they are$"):
        memory.read([[0.5]])
