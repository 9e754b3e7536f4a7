"""Arrays of every kind mean what they say, and what cannot be meant is refused with a sentence."""
import sys
import types

import numpy as np
import pytest

import bayespcn
from bayespcn import InvalidError, Memory, _bayespcn as raw


def forms(x):
    """The same numbers in other ways."""
    wide = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    wide[::2, ::3] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    odd = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    return {
        "float64": x.astype(np.float64),
        "float128": x.astype(np.longdouble),
        "fortran": np.asfortranarray(x),
        "strided": wide[::2, ::3],
        "backwards": x[::-1].copy()[::-1],
        "read-only": frozen,
        "unaligned": odd,
        "big-endian": x.astype(">f4"),
        "list": x.tolist(),
        "matrix of a masked array": np.ma.MaskedArray(x),
    }


def test_every_dtype_and_order_gives_the_same_bits(memory, rows):
    wanted = memory.read(rows).x
    for name, form in forms(rows).items():
        np.testing.assert_array_equal(memory.read(form).x, wanted, err_msg=name)
        np.testing.assert_array_equal(memory.score(form), memory.score(rows), err_msg=name)


def test_every_dtype_and_order_is_written_alike(rows):
    densities = {}
    for name, form in forms(rows[:6]).items():
        memory = Memory(dim=30, hidden=(8,), shards=1, threads=1)
        memory.write(form)
        densities[name] = memory.score(rows).tobytes()
    assert len(set(densities.values())) == 1, densities.keys()


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int64, np.uint16, np.bool_])
def test_small_numbers_of_any_type_are_those_numbers(dtype):
    memory = Memory(dim=4, hidden=(8,), shards=1)
    x = np.array([[0, 1, 1, 0], [1, 0, 1, 1]])
    memory.write(x.astype(dtype))
    np.testing.assert_array_equal(memory.score(x.astype(dtype)), memory.score(x.astype(np.float32)))


def test_input_is_never_changed(memory, rows):
    query = rows.copy()
    query[:, 3] = np.nan
    before = query.copy()
    memory.read(query)
    memory.score(query)
    memory.write(query)
    np.testing.assert_array_equal(query, before)


def test_one_row_comes_back_as_one_row(memory, rows):
    answer = memory.read(rows[0])
    assert answer.x.shape == (30,) and np.ndim(answer.familiarity) == 0 and str(answer.verdict) == "known"
    assert np.ndim(memory.score(rows[0])) == 0
    np.testing.assert_array_equal(answer.x, memory.read(rows[:1]).x[0])


def test_no_rows_are_no_rows(memory):
    empty = np.zeros((0, 30))
    assert memory.read(empty, spread=True, typicality=True).x.shape == (0, 30)
    assert memory.score(empty).shape == memory.typicality(empty).shape == (0,)
    before = memory.rows
    memory.write(empty)
    assert memory.rows == before


@pytest.mark.parametrize(
    "wrong",
    [np.zeros(29), np.zeros((2, 31)), np.zeros((2, 3, 30)), np.float32(1), np.zeros((30, 2)), [], np.zeros((2, 0))],
    ids=str,
)
def test_wrong_shapes_are_refused(memory, wrong):
    for call in (memory.read, memory.write, memory.score, memory.infer, memory.delete):
        with pytest.raises(InvalidError, match="rows have the shape"):
            call(wrong)


@pytest.mark.parametrize("wrong", [np.zeros((2, 30), complex), np.full((1, 30), "a"), [object()] * 30, None], ids=str)
def test_what_is_no_number_is_a_type_error(memory, wrong):
    with pytest.raises(TypeError, match="must be numbers"):
        memory.read(wrong)


def test_bytes_must_say_what_they_mean(memory):
    with pytest.raises(InvalidError, match="pixels"):
        memory.read(np.zeros((1, 30), np.uint8))


def test_nan_is_unknown_and_a_mask_says_the_same(memory, rows):
    known = np.random.default_rng(2).random(rows.shape) < 0.6
    holes = np.where(known, rows, np.nan)
    by_nan, by_mask = memory.read(holes), memory.read(rows, known)
    np.testing.assert_array_equal(by_nan.x, by_mask.x)
    np.testing.assert_array_equal(by_nan.x, memory.read(np.ma.MaskedArray(rows, ~known)).x)
    np.testing.assert_array_equal(by_nan.x[known], rows[known])
    np.testing.assert_array_equal(by_nan.known, known.sum(axis=1))


def test_a_mask_of_one_row_is_for_all(memory, rows):
    known = np.arange(30) % 2
    np.testing.assert_array_equal(memory.read(rows, known).x, memory.read(rows, np.tile(known, (24, 1))).x)


def test_masks_of_other_shapes_and_types_are_refused(memory, rows):
    with pytest.raises(InvalidError, match="known has the shape"):
        memory.read(rows, np.ones(29, bool))
    with pytest.raises(TypeError, match="known must be"):
        memory.read(rows, np.ones(30))


def test_an_answer_does_not_depend_on_holes_in_other_rows(memory, rows):
    """A row without holes is a noisy copy, whoever comes with it."""
    noisy = rows[:6] + 0.05
    mixed = noisy.copy()
    mixed[2, :10] = np.nan
    together = memory.read(mixed, spread=True)
    alone = memory.read(noisy, spread=True)
    kept = [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(together.x[kept], alone.x[kept])
    np.testing.assert_array_equal(together.familiarity[kept], alone.familiarity[kept])
    np.testing.assert_array_equal(together.x[2], memory.read(mixed[2]).x)


def test_nan_where_it_is_known_and_huge_numbers_are_refused_and_change_nothing(memory, rows):
    before = memory.score(rows)
    for value, sentence in ((np.nan, "is NaN"), (1e16, "row 1, entry 4"), (1e300, "row 1, entry 4"), (np.inf, "entry 4")):
        bad = rows.astype(np.float64)
        bad[1, 4] = value
        with pytest.raises(ValueError, match=sentence) as error:
            memory.write(bad, np.ones(30, bool))
        assert error.value.written == 0 and error.value.status == 1
        with pytest.raises(InvalidError):
            memory.read(bad, np.ones(30, bool))
    np.testing.assert_array_equal(memory.score(rows), before)
    assert memory.rows == 24


def test_a_bad_row_far_down_a_long_write_leaves_nothing_written():
    x = np.random.default_rng(0).normal(size=(700, 3))
    x[650] = np.nan
    memory = Memory(dim=3, hidden=(4,), shards=1)
    with pytest.raises(InvalidError, match="row 650"):
        memory.write(x)
    assert memory.rows == 0


def test_long_writes_are_the_same_in_parts_and_tell_their_progress():
    x = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
    memory = Memory(dim=3, hidden=(4,), shards=3, threads=1)
    told = []
    memory.write(x, progress=lambda done, of: told.append((done, of)))
    whole = raw.create({"dim": 3, "hidden": (4,), "shards": 3, "threads": 1})
    whole.write(x, None, None, None)
    density = np.empty(600)
    whole.score(x, None, density)
    np.testing.assert_array_equal(memory.score(x), density)
    assert told == [(256, 600), (512, 600), (600, 600)]


def test_progress_is_a_bar_of_tqdm_if_that_is_there(monkeypatch):
    class Bar:
        n = closed = 0

        def __init__(self, total, unit):
            bars.append(self)

        def update(self, more):
            self.n += more

        def close(self):
            self.closed = True

    bars = []
    memory = Memory(dim=3, hidden=(4,), shards=1)
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    memory.write(np.ones((300, 3)), progress=True)
    assert [(bar.n, bar.closed) for bar in bars] == [(300, True)]
    monkeypatch.setitem(sys.modules, "tqdm", None)
    memory.write(np.ones((3, 3)), progress=True)
    assert memory.rows == 303


def test_an_error_in_the_callback_leaves_whole_rows():
    memory = Memory(dim=3, hidden=(4,), shards=1)
    with pytest.raises(KeyboardInterrupt):
        memory.write(np.ones((600, 3)), progress=lambda done, of: (_ for _ in ()).throw(KeyboardInterrupt))
    assert memory.rows == 256


def test_out_is_filled_and_is_strict(memory, rows):
    out = np.empty_like(rows)
    answer = memory.read(rows, out=out)
    assert answer.x is out
    np.testing.assert_array_equal(out, memory.read(rows).x)
    frozen = np.empty_like(rows)
    frozen.flags.writeable = False
    for wrong in (np.empty(rows.shape), np.empty((30, 24), np.float32), np.empty_like(rows).T, frozen, rows.tolist(), rows[:3]):
        with pytest.raises(InvalidError, match="out must be"):
            memory.read(rows, out=wrong)
    with pytest.raises(InvalidError, match="out takes rows as they are"):
        Memory(shape=(2, 2, 3)).read(np.zeros((1, 2, 2, 3)), out=np.zeros((1, 2, 2, 3), np.float32))


def test_pictures_come_and_go_with_their_channels_last():
    pictures = np.random.default_rng(0).uniform(-1, 1, size=(10, 4, 6, 3))
    memory = Memory(shape=(4, 6, 3), hidden=(32,), shards=1)
    memory.write(pictures)
    half = pictures.copy()
    half[:, :, 3:] = np.nan
    np.testing.assert_allclose(memory.read(half).x, pictures, atol=0.01)
    np.testing.assert_allclose(memory.read(pictures, ~np.isnan(half)).x, pictures, atol=0.01)
    mean, _ = memory.layer(0)
    planes = Memory(dim=72, hidden=(32,), shards=1)
    planes.write(np.moveaxis(pictures, -1, 1).reshape(10, 72))
    np.testing.assert_array_equal(planes.layer(0)[0], mean)
    assert memory.sample(5).shape == (5, 4, 6, 3)


def test_pixels_are_in_their_own_range_on_both_sides():
    pictures = np.random.default_rng(0).integers(0, 256, size=(10, 8, 8), dtype=np.uint8)
    memory = Memory(shape=(8, 8), pixels=(0, 255), hidden=(32,), shards=1)
    memory.write(pictures)
    answer = memory.read(pictures, np.arange(64).reshape(8, 8) < 40, spread=True)
    np.testing.assert_allclose(answer.x, pictures, atol=1)
    plain = Memory(shape=(8, 8), hidden=(32,), shards=1)
    plain.write(pictures / 127.5 - 1)
    np.testing.assert_allclose(plain.score(pictures / 127.5 - 1), memory.score(pictures), rtol=1e-4)
    np.testing.assert_allclose(
        answer.spread,
        127.5 * plain.read(pictures / 127.5 - 1, np.arange(64).reshape(8, 8) < 40, spread=True).spread,
        rtol=1e-2,
        atol=1e-3,
    )
    with pytest.raises(InvalidError, match="no range"):
        Memory(shape=(8, 8), pixels=(255, 0))


def test_raw_buffers_are_checked():
    handle = raw.create({"dim": 4, "hidden": (4,)})
    x, out = np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float32)
    for bad in (x.astype(np.float64), x.astype(np.int32), x.astype(">f4")):
        with pytest.raises(TypeError, match="float32"):
            handle.read(bad, None, None, out, None, None)
    with pytest.raises((ValueError, BufferError)):
        handle.read(np.zeros((4, 8), np.float32)[:, ::2], None, None, out, None, None)
    with pytest.raises(InvalidError, match="no whole number of rows"):
        handle.read(np.zeros(7, np.float32), None, None, out, None, None)
    with pytest.raises(InvalidError, match="out has 4 entries, but must have 8"):
        handle.read(x, None, None, out[:1], None, None)
    with pytest.raises(InvalidError, match="info has 128 bytes"):
        handle.read(x, None, None, out, np.zeros(1, np.dtype(raw.READ_INFO)), None)
    frozen = out.copy()
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        handle.read(x, None, None, frozen, None, None)
    with pytest.raises(TypeError):
        handle.read("text", None, None, out, None, None)
    with pytest.raises(TypeError):
        raw.Handle()


def test_the_columns_of_entries_are_checked():
    with pytest.raises(InvalidError, match="a number for each of the 3 entries"):
        raw.create({"dim": 3, "kind": raw.TABLE, "column": bytes(8)})
    with pytest.raises(TypeError):
        raw.create({"dim": 3, "kind": raw.TABLE, "column": [0, 0, 1]})


def test_options_are_checked_with_a_sentence():
    for wrong, sentence in (
        ({"dim": -1}, "no entries"),
        ({"dim": 2**70}, "out of range"),
        ({"dim": 5, "activation": "step"}, "activation is 'step', but must be one of gelu"),
        ({"dim": 5, "sigma_x": -1}, "sigma_x"),
        ({"dim": 5, "hidden": (4,) * 65}, "out of range"),
        ({"shape": ()}, "no entries"),
    ):
        with pytest.raises(InvalidError, match=sentence):
            Memory(**wrong)
    for wrong in ({}, {"dim": 3, "shape": (3,)}, {"dim": 3, "widht": 3}, {"dim": 3, "seed": 1.5}):
        with pytest.raises(TypeError):
            Memory(**wrong)
    assert Memory(dim=5, activation="tanh", when_full="recycle").options["when_full"] == "recycle"
    assert bayespcn.__version__ == raw.VERSION
