"""Tables: DataFrames in and out, and memories shared with the program bpcn."""
import os
import pickle
import subprocess

import re

import numpy as np
import pandas as pd
import pytest

from bayespcn import Column, InvalidError, Memory, columns_of

BPCN = os.environ.get("BPCN")
with_program = pytest.mark.skipif(BPCN is None, reason="BPCN does not name the program bpcn")


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 12, n).round()
    city = pd.Categorical.from_codes((age > 40).astype(int) + (age > 55), ["Bonn", "Rome", "Oslo"])
    return pd.DataFrame(
        {
            "id": [f"person {k}" for k in range(n)],
            "age": age,
            "wage": 1000 + 50 * age + rng.normal(0, 20, n),
            "city": city,
            "kind": np.where(age > 40, "old", "young"),
            "children": pd.array((age // 20).astype(int), dtype="Int64"),
        }
    )


def with_gaps(frame, seed=1):
    rng = np.random.default_rng(seed)
    gaps = frame.copy()
    for name in frame.columns[1:]:
        gaps.loc[rng.random(len(frame)) < 0.2, name] = None
    return gaps


@pytest.fixture(scope="module")
def learnt():
    with pytest.warns(UserWarning, match="not learnt: id"):
        memory = Memory(columns=table())
    memory.write(table())
    return memory


def test_a_frame_with_gaps_comes_back_filled_and_otherwise_the_same(learnt):
    whole, gaps = table(100, seed=3), with_gaps(table(100, seed=3))
    before = gaps.copy()
    filled = learnt.read(gaps).x
    pd.testing.assert_frame_equal(gaps, before)
    assert list(filled.columns) == list(gaps.columns) and (filled.dtypes == gaps.dtypes).all()
    assert filled.notna().all().all() and (filled.index == gaps.index).all()
    for name in gaps.columns:
        there = gaps[name].notna()
        pd.testing.assert_series_equal(filled[name][there], gaps[name][there])
    hole = gaps["wage"].isna() & gaps["age"].notna()
    assert np.abs(filled["wage"] - whole["wage"])[hole].mean() < 0.5 * whole["wage"].std()
    hole = gaps["kind"].isna() & gaps["age"].notna()
    assert (filled["kind"] == whole["kind"])[hole].mean() > 0.8
    assert str(filled["children"].dtype) == "Int64" and filled["city"].cat.categories.equals(gaps["city"].cat.categories)


def test_arrays_of_cells_mean_the_same_as_frames(learnt):
    gaps = with_gaps(table(30, seed=4))
    words = {column.name: column.words for column in learnt.columns}
    cells = np.array(
        [
            [np.nan if pd.isna(v) else words[name].index(v) if words[name] else v for name, v in row.items() if name != "id"]
            for _, row in gaps.iterrows()
        ],
        dtype=float,
    )
    np.testing.assert_array_equal(learnt.score(cells), learnt.score(gaps))
    from_cells, from_frame = learnt.read(cells, spread=True), learnt.read(gaps, spread=True)
    np.testing.assert_array_equal(from_cells.spread, from_frame.spread.drop(columns="id"))
    assert (from_frame.spread["id"] == 0).all()
    np.testing.assert_allclose(from_cells.x[:, 1], from_frame.x["wage"].to_numpy(dtype=float))
    np.testing.assert_array_equal(from_cells.spread[~np.isnan(cells)], 0)
    one = learnt.read(cells[0])
    np.testing.assert_array_equal(one.x, from_cells.x[0])
    np.testing.assert_array_equal(learnt.read(np.nan_to_num(cells), ~np.isnan(cells)).x, from_cells.x)


def test_a_row_without_gaps_comes_back_as_it_is(learnt):
    whole = table(20, seed=5)
    pd.testing.assert_frame_equal(learnt.read(whole).x, whole)


def test_words_and_columns_that_were_never_there_are_unknown_and_said_so(learnt):
    frame = table(5)
    frame["kind"] = "ancient"
    with pytest.warns(UserWarning, match="'ancient'"):
        answer = learnt.read(frame)
    assert (answer.x["kind"] == "ancient").all() and (answer.known < learnt.read(table(5)).known).all()
    with pytest.warns(UserWarning, match="count as unknown: wage"):
        learnt.copy().write(table(5).drop(columns="wage"))
    with pytest.raises(InvalidError, match="none of the memory's columns"):
        learnt.read(pd.DataFrame({"x": [1.0]}))


def test_values_out_of_place_are_refused_by_name(learnt):
    frame = table(5)
    frame.loc[3, "wage"] = 1e9
    with pytest.raises(InvalidError, match="row 3, column 'wage' is 1e.09, more than 100 scales"):
        learnt.write(frame)
    clipped = Memory(columns=learnt.columns, clip=True)
    clipped.write(frame)
    frame["wage"] = "much"
    with pytest.raises(InvalidError, match="row 0, column 'wage' is 'much', but the column holds numbers"):
        learnt.read(frame)
    with pytest.raises(InvalidError, match="none of its words"):
        learnt.read([[40.0, 3000.0, 7.0, 0.0, 1.0]])
    with pytest.raises(InvalidError, match="a cell for each column"):
        learnt.read(np.zeros((3, 4)))


def test_columns_of_every_type_keep_it():
    n = 60
    k = np.arange(n)
    frame = pd.DataFrame(
        {
            "float32": (k % 7).astype(np.float32),
            "Float64": pd.array(k % 5, dtype="Float64"),
            "int64": k % 4,
            "bool": k % 2 == 0,
            "boolean": pd.array(k % 2 == 0, dtype="boolean"),
            "string": pd.array(np.where(k % 2, "a", "b"), dtype="string"),
            "of numbers": pd.Categorical(k % 3),
            7: k * 0.5,
        },
        index=np.zeros(n, int),
    )
    memory = Memory(columns=frame)
    memory.write(frame)
    assert [c.kind for c in memory.columns] == ["number"] * 3 + ["category"] * 4 + ["number"]
    gaps = frame.copy()
    for name in ("float32", "Float64", "boolean", "string", "of numbers", 7):
        gaps.loc[k % 10 == 3, name] = pd.NA if name != 7 else np.nan
    filled = memory.read(gaps).x
    assert filled.notna().all().all() and (filled.dtypes == gaps.dtypes).all()
    twice = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
    for call in (memory.read, lambda frame: Memory(columns=frame)):
        with pytest.raises(InvalidError, match="same name"):
            call(twice)


def test_what_a_mask_hides_of_a_frame_is_filled_too(learnt):
    whole = table(6, seed=9)
    known = np.ones((6, 5), bool)
    known[2, 1] = known[3, 3] = known[4, 4] = False
    gaps = whole.copy()
    gaps.loc[2, "wage"] = gaps.loc[3, "kind"] = gaps.loc[4, "children"] = None
    pd.testing.assert_frame_equal(learnt.read(whole, known).x, learnt.read(gaps).x)
    assert learnt.read(whole, known).x.loc[2, "wage"] != whole.loc[2, "wage"]


def test_a_row_of_a_frame_is_read_by_its_names(learnt):
    gaps = with_gaps(table(6, seed=9))
    every = learnt.read(gaps, spread=True)
    for k in range(6):
        one = learnt.read(gaps.iloc[k, ::-1], spread=True)
        assert one.x.name == gaps.index[k] and list(one.x.index) == list(gaps.columns[::-1])
        assert one.x["city"] == every.x["city"][k] and one.x["wage"] == pytest.approx(every.x["wage"][k], rel=1e-3)
        assert list(one.spread.index) == list(gaps.columns[::-1])
        np.testing.assert_allclose(one.spread[gaps.columns], every.spread.iloc[k], rtol=1e-2)
    assert np.ndim(learnt.score(table(1).iloc[0])) == 0


@pytest.fixture(scope="module")
def strangers():
    k = np.arange(60)
    frame = pd.DataFrame({"x": k - 30.0, "flag": k > 30, "word": np.where(k > 30, "up", "down"), "few": (k > 30).astype(np.uint8)})
    memory = Memory(columns=frame)
    memory.write(frame)
    return memory


def test_columns_with_other_types_than_were_learnt_are_filled(strangers):
    for name, column, good in (
        ("word", pd.array([np.nan, np.nan], "float64"), {"up", "down"}),
        ("word", pd.Categorical([None, "up"], ["up"]), {"up", "down"}),
        ("flag", np.array([None, True]), {True, False}),
        ("flag", np.array([None, None]), {True, False}),
        ("few", pd.array([None, 1], "UInt8"), {0, 1}),
        ("few", pd.arrays.SparseArray([1, np.nan]), None),
        ("x", np.array([None, None]), None),
        ("x", np.array([None, 3]), None),
    ):
        asked = pd.DataFrame({"x": [-29.0, 20.0], "flag": [False, True], "word": ["down", "up"], "few": [0, 1]}, index=["i", "i"])
        asked[name] = column
        filled, there = strangers.read(asked).x, asked[name].notna().to_numpy()
        assert filled[name].notna().all() and list(filled.index) == ["i", "i"], (name, column)
        assert filled[name][there].tolist() == asked[name][there].tolist(), (name, column)
        assert good is None or set(filled[name]) <= good, (name, filled[name])


def test_numbers_as_objects_are_numbers_and_infinite_ones_are_refused_by_name():
    frame = pd.DataFrame({"a": pd.Series([1, 2.5, None, 4], dtype=object), "b": [1, 2, 3, np.inf], "c": np.inf, "d": np.nan})
    with pytest.warns(UserWarning, match="not learnt: c, d"):
        memory = Memory(columns=frame, clip=True)
    assert [column.kind for column in memory.columns] == ["number", "number", "ignored", "ignored"]
    with pytest.raises(InvalidError, match="row 3, column 'b' is inf, which cannot be kept"):
        memory.write(frame)
    memory.write(frame.iloc[:3])
    assert memory.rows == 3 and memory.read(frame.iloc[:3]).x["a"].notna().all()


def test_whole_numbers_stay_in_the_range_of_their_type():
    frame = pd.DataFrame({"x": np.arange(60.0), "n": np.arange(60) // 30})
    memory = Memory(columns=frame)
    memory.write(frame)
    asked = pd.DataFrame({"x": [-150.0, 200.0], "n": pd.array([None, None], "UInt8")})
    assert str(memory.read(asked).x["n"].dtype) == "UInt8"


@pytest.mark.parametrize("frame", [pd.DataFrame(), table().iloc[:0], pd.DataFrame({"took": pd.to_timedelta([1, 2, 3], "h")})])
@pytest.mark.filterwarnings("ignore:columns that are not learnt")
def test_a_frame_without_anything_to_learn_is_refused(frame):
    with pytest.raises(InvalidError, match="no column to learn"):
        Memory(columns=frame)


def test_columns_can_be_stated():
    columns = columns_of({"a": "number", "b": (5, 2), "c": ["x", "y", "x"], "d": "ignored"})
    assert [c.kind for c in columns] == ["number", "number", "category", "ignored"] and columns[2].words == ("x", "y")
    memory = Memory(columns=columns)
    memory.write(pd.DataFrame({"a": [0.5], "b": [6], "c": ["y"]}))
    assert memory.sample(4).shape == (4, 3) and "3 columns" in repr(memory)
    for wrong in ({"a": "nmber"}, {"a": (1, 0)}, [Column("a"), Column("a")], {"a": "ignored"}, {"a": ()}):
        with pytest.raises(InvalidError):
            Memory(columns=wrong)
    with pytest.raises(TypeError):
        Memory(columns=["a", "b"])


def test_a_table_survives_pickling_and_files(learnt, tmp_path):
    gaps = with_gaps(table(20, seed=6))
    learnt.save(tmp_path / "t.mem")
    for twin in (pickle.loads(pickle.dumps(learnt)), Memory.load(tmp_path / "t.mem"), Memory.open(tmp_path / "t.mem")):
        assert twin.columns == learnt.columns
        pd.testing.assert_frame_equal(twin.read(gaps).x, learnt.read(gaps).x)


def test_strange_names_go_through_the_note():
    columns = [Column("a=b%\tc\nd", "number", 1e-7, 123456.789), Column("é", "category", 0.5, 1, ("ü\t", "=%41", "\x7f"))]
    assert Memory(columns=columns).copy().columns == columns


def bpcn(*arguments):
    done = subprocess.run([BPCN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@with_program
def test_a_table_of_the_program_opens_here_with_the_columns_that_would_be_found_here(tmp_path):
    frame = table().drop(columns="id")
    frame["constant"] = 250.0
    frame["rare"] = np.where(np.arange(300) == 7, 3.0, 0.0)
    frame["tiny"] = 1e-9 * np.arange(300)
    frame["city"] = frame["city"].astype(str)
    frame.to_csv(tmp_path / "t.csv", index=False)
    bpcn("create", tmp_path / "t.mem", "--like", tmp_path / "t.csv")
    bpcn("write", tmp_path / "t.mem", tmp_path / "t.csv")
    with Memory.open(tmp_path / "t.mem") as memory:
        assert memory.rows == 300
        assert memory.columns == columns_of(frame)
        with_gaps(frame).to_csv(tmp_path / "gaps.csv", index=False)
        gaps = with_gaps(frame)
        answer = memory.read(gaps).x
        assert answer.notna().all().all() and (answer["kind"][gaps["kind"].notna()] == frame["kind"][gaps["kind"].notna()]).all()
    with Memory.open(tmp_path / "t.mem", "r+") as memory:
        memory.write(frame.iloc[:3])
    assert '"writes":303' in bpcn("info", tmp_path / "t.mem", "--json").replace(" ", "")


@with_program
def test_a_table_of_this_package_opens_in_the_program(tmp_path):
    frame = table().drop(columns="id")
    with Memory.open(tmp_path / "t.mem", "a", columns=frame) as memory:
        memory.write(frame)
        gaps = with_gaps(table(40, seed=8)).drop(columns="id")
        wanted = memory.read(gaps).x
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    bpcn("read", tmp_path / "t.mem", tmp_path / "gaps.csv", "-o", tmp_path / "out.csv")
    filled = pd.read_csv(tmp_path / "out.csv")
    assert list(filled.columns) == list(frame.columns)
    known = gaps["wage"].notna()
    np.testing.assert_allclose(filled["wage"][known], gaps["wage"][known], rtol=1e-3)
    assert (filled["kind"] == wanted["kind"]).mean() > 0.9


@with_program
def test_pictures_are_shared_with_the_program(tmp_path):
    pictures = np.random.default_rng(0).uniform(-1, 1, size=(6, 4, 5, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", np.moveaxis(pictures, -1, 1).reshape(6, 60))
    bpcn("create", tmp_path / "p.mem", "--image", "5x4x3")
    bpcn("write", tmp_path / "p.mem", tmp_path / "rows.npy")
    with Memory.open(tmp_path / "p.mem") as memory:
        assert memory.shape == (4, 5, 3) and set(memory.read(pictures).verdict) == {"known"}
    with Memory.open(tmp_path / "q.mem", "a", shape=(4, 5, 3)) as memory:
        memory.write(pictures)
    assert "5x4x3" in bpcn("info", tmp_path / "q.mem")


def test_a_words_spread_is_about_the_chance_that_it_is_wrong():
    """On rows that were not learnt; twice the binomial deviation of 90 cells is 0.1."""
    draw = np.random.default_rng(0)
    z = draw.normal(size=(1000, 2))
    frame = pd.DataFrame(z @ draw.normal(size=(2, 4)) + 0.3 * draw.normal(size=(1000, 4)), columns=list("abcd"))
    chosen = np.argmax(z @ draw.normal(size=(2, 4)) + 0.3 * draw.gumbel(size=(1000, 4)), 1)
    frame["word"] = np.array(["red", "green", "blue", "grey"])[chosen]
    asked = frame[700:].reset_index(drop=True)
    hidden = draw.random(300) < 0.3
    holes = asked.copy()
    holes.loc[hidden, "word"] = None
    memory = Memory(columns=frame[:700])
    memory.write(frame[:700])
    answer = memory.read(holes, spread=True)
    wrong = (answer.x["word"].astype(str) != asked["word"]).to_numpy()[hidden]
    said = np.asarray(answer.spread)[hidden, 4]
    unsure = said > np.median(said)
    assert abs(wrong.mean() - said.mean()) < 0.12
    assert wrong[unsure].mean() > wrong[~unsure].mean() + 0.1


def test_fills_are_as_the_column_is_and_within_what_it_held():
    rng = np.random.default_rng(4)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 200), "D")
    size = pd.Categorical(rng.choice(["small", "large"], 200), ["small", "large"], ordered=True)
    frame = pd.DataFrame({"count": rng.integers(0, 9, 200), "price": rng.uniform(1, 90, 200).round(2), "day": day, "size": size})
    memory = Memory(columns=frame)
    memory.write(frame)
    assert [c.kind for c in memory.columns] == ["number", "number", "number", "ordered"]
    asked = frame.astype({"count": "Int64"}).copy()
    for at, name in enumerate(frame):
        asked.loc[at::7, name] = None
    filled = memory.read(asked).x
    assert filled["count"].dtype == "Int64" and filled["count"].between(0, 8).all()
    assert (filled["price"].round(2) == filled["price"]).all() and filled["price"].between(*frame["price"].agg(["min", "max"])).all()
    assert filled["day"].dtype == asked["day"].dtype and filled["day"].between(day.min(), day.max()).all()
    assert filled["size"].isin(["small", "large"]).all()
    for name in frame:  # and nothing else changed
        known = asked[name].notna()
        assert (filled[name][known] == asked[name][known]).all()


def test_text_in_a_columns_writing_is_read_and_written():
    columns = [
        Column("price", "number", 500.0, 200.0, decimals=2, fixed=True, group=",", prefix="$", low=1.0, high=2000.0),
        Column("when", "number", 19800.0, 60.0, date="DD/MM/YYYY", low=19700.0, high=19900.0),
        Column("at", "number", 12.0, 6.0, date="hh:mm", period=24.0),
        Column("cold", "number", 10.0, 5.0, decimals=1, kept=("-999", "ERR")),
    ]
    memory = Memory(columns=columns)
    rng = np.random.default_rng(5)
    rows = [
        (f"${1000 + 200 * u:,.2f}", f"{10 + i % 15}/03/2024", f"{i % 24:02d}:30", f"{10 + u:.1f}")
        for i, u in enumerate(rng.normal(size=60))
    ]
    frame = pd.DataFrame(rows, columns=["price", "when", "at", "cold"])
    memory.write(frame)
    asked = frame.iloc[:4].copy()
    asked.iloc[0, 0] = asked.iloc[1, 1] = asked.iloc[2, 2] = None
    asked.iloc[3, 3] = "ERR"
    filled = memory.read(asked).x
    assert re.fullmatch(r"\$[\d,]+\.\d\d", filled.iloc[0, 0])
    assert re.fullmatch(r"\d\d/0\d/2024", filled.iloc[1, 1])
    assert re.fullmatch(r"\d\d:\d\d", filled.iloc[2, 2])
    assert filled.iloc[3, 3] == "ERR" and filled.iloc[1, 0] == asked.iloc[1, 0]


@pytest.mark.parametrize(
    "line", ["a\tnumber\t0\t1\tnew=1", "a\tnumber\t0\t1\tlow=1", "a\tnumber\t0\t1\tperiod=1e-9", "a\tordered\t0\t1"]
)
def test_a_damaged_description_of_columns_is_refused(line):
    from bayespcn.columns import columns_of_note

    with pytest.raises(InvalidError, match="describe"):
        columns_of_note(f"columns=1\n{line}\n")
    with pytest.raises(InvalidError, match="version 3"):
        columns_of_note(f"schema=3\ncolumns=1\n{line}\n")


@with_program
def test_a_table_with_dates_and_currency_is_shared_with_the_program(tmp_path):
    rows = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d},\"${1000 + 7 * i:,.2f}\",{i % 24:02d}:15,{i % 5}" for i in range(120)]
    (tmp_path / "t.csv").write_text("day,price,clock,n\n" + "\n".join(rows) + "\n")
    bpcn("create", tmp_path / "t.mem", "--like", tmp_path / "t.csv")
    bpcn("write", tmp_path / "t.mem", tmp_path / "t.csv")
    with Memory.open(tmp_path / "t.mem") as memory:
        day, price, clock, n = memory.columns
        assert (day.date, price.prefix, price.group, price.decimals, clock.date, clock.period) == ("YYYY-MM-DD", "$", ",", 2, "hh:mm", 24)
        assert n.whole and (n.low, n.high) == (0, 4)
        frame = pd.read_csv(tmp_path / "t.csv")
        asked = frame.iloc[:1].astype({"price": object})
        asked.loc[0, "price"] = None
        assert memory.read(asked).x.price[0].startswith("$")


def test_a_wrong_cell_is_blamed(learnt):
    frame = table(20, seed=8)
    frame.loc[3, "wage"] = 1000.0
    frame.loc[5, "kind"] = "old" if frame["kind"][5] == "young" else "young"
    blames = learnt.explain(frame)
    assert blames[3][0].column == "wage" and abs(blames[3][0].expected - table(20, seed=8)["wage"][3]) < 300
    # Age, city and children follow from each other: beside a wrong word, one of them may be the odder column.
    assert "kind" in [one.column for one in blames[5][:2]] and blames[5][0].nats > 2
    assert learnt.explain(frame.iloc[3])[0] == pytest.approx(blames[3][0]) or learnt.explain(frame.iloc[3])[0].column == "wage"
    gaps = frame.copy()
    gaps.loc[3, "wage"] = None
    assert "wage" not in [one.column for one in learnt.explain(gaps)[3]]
    with pytest.raises(InvalidError, match="only a table"):
        Memory(dim=3).explain([0.0, 0.0, 0.0])


def test_a_frame_without_its_target_is_answered_with_it(learnt):
    frame = table(40, seed=9)
    asked = frame.drop(columns="wage")
    answer = learnt.read(asked, spread=True)
    gaps = frame.assign(wage=np.nan)
    np.testing.assert_array_equal(answer.x["wage"], learnt.read(gaps).x["wage"])
    assert list(answer.x) == [*asked, "wage"] and list(answer.spread) == list(answer.x)
    assert (answer.spread["wage"] > 0).all() and (answer.spread[list(asked)] == 0).all().all()
    pd.testing.assert_frame_equal(answer.x[list(asked)], asked)


def test_integers_come_back_as_integers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80)})
    frame["y"], frame["n"] = (frame.x > 0).astype(int), (10 * frame.x).round().astype(int)
    memory = Memory(columns=frame)
    memory.write(frame)
    for asked in (frame[["x"]], frame.assign(y=np.nan, n=frame.n.where(frame.n > 0))):
        filled = memory.read(asked).x
        assert filled["y"].dtype == filled["n"].dtype == np.int64 and set(filled["y"]) == {0, 1}
    assert memory.sample(5)["n"].dtype == np.int64


def test_chances_of_words_add_up_and_agree_with_the_answer(learnt):
    gaps = with_gaps(table(30, seed=4))
    answer = learnt.read(gaps, spread=True)
    for name, chance in answer.chances.items():
        np.testing.assert_allclose(chance.sum(axis=1), 1, rtol=1e-12)
        hidden = gaps[name].isna()
        assert (chance.idxmax(axis=1) == answer.x[name].astype(str)).all()
        # the same estimate, from the same entries
        np.testing.assert_allclose(answer.spread[name][hidden], 1 - chance[hidden].max(axis=1), atol=1e-9)
        assert (chance[~hidden].max(axis=1) == 1).all()


def test_a_sequence_is_not_opened_as_a_plain_memory(tmp_path):
    bpcn("create", tmp_path / "film.mem", "--sequence", "--image", "8x8", "--capacity", "100")
    before = (tmp_path / "film.mem").read_bytes()
    for mode in ("r", "r+"):
        with pytest.raises(InvalidError, match="film.mem: is a sequence"):
            Memory.open(tmp_path / "film.mem", mode)
    assert (tmp_path / "film.mem").read_bytes() == before
