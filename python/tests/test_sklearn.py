"""The estimators keep scikit-learn's contract."""
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from bayespcn import Memory
from bayespcn.sklearn import MemoryImputer, MemoryNovelty

SMALL = {"threads": 1}
ran = {"MemoryImputer": 0, "MemoryNovelty": 0}


@parametrize_with_checks([MemoryImputer(**SMALL), MemoryNovelty(contamination=0.1, **SMALL)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
    ran[type(estimator).__name__] += 1


def test_all_of_those_checks_ran():
    for estimator in (MemoryImputer(), MemoryNovelty()):
        name = type(estimator).__name__
        assert ran[name] == len(list(check_estimator(estimator, generate_only=True))) >= 30, ran


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, 6)) * [1, 10, 100, 1, 5, 0.1] + 3


def holes(x, share=0.2):
    hidden = np.random.default_rng(1).random(x.shape) < share
    hidden[:, 0] = False
    return np.where(hidden, np.nan, x), hidden


def test_an_imputer_fills_better_than_the_mean_and_leaves_the_rest():
    x = rows(400)
    gaps, hidden = holes(x[200:])
    filled = MemoryImputer().fit(x[:200]).transform(gaps)
    mean = SimpleImputer().fit(x[:200]).transform(gaps)
    np.testing.assert_array_equal(filled[~hidden], gaps[~hidden])
    scale = np.broadcast_to(x.std(axis=0), x[200:].shape)[hidden]
    assert np.std((filled - x[200:])[hidden] / scale) < 0.5 * np.std((mean - x[200:])[hidden] / scale)


def test_partial_fits_are_one_fit():
    x = rows()
    whole = MemoryImputer(**SMALL).fit(x)
    parts = MemoryImputer(**SMALL).fit(x)
    parts.memory_ = whole.memory_.copy()
    more = rows(40, seed=5)
    parts.partial_fit(more[:20]).partial_fit(more[20:])
    whole.partial_fit(more)
    gaps, _ = holes(x[:20])
    np.testing.assert_allclose(parts.transform(gaps), whole.transform(gaps), rtol=1e-4)
    assert whole.memory_.rows == 240


def test_a_column_and_a_row_without_any_value_are_taken():
    x = rows(50)
    x[:, 2] = np.nan
    x[7] = np.nan
    filled = MemoryImputer(**SMALL).fit_transform(x)
    assert np.isfinite(filled).all() and filled.shape == x.shape


def test_pandas_comes_out_with_names():
    frame = pd.DataFrame(holes(rows(60))[0], columns=list("abcdef"), index=np.arange(60) + 5)
    out = MemoryImputer(**SMALL).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == list("abcdef") and list(out.index) == list(frame.index)
    assert list(MemoryImputer(**SMALL).fit(frame).get_feature_names_out()) == list("abcdef")


def test_a_pipeline_and_a_grid_search_work():
    x, _ = holes(rows(90))
    search = GridSearchCV(
        make_pipeline(MemoryImputer(**SMALL), Ridge()), {"memoryimputer__seed": [0, 1]}, cv=2, error_score="raise"
    )
    search.fit(x, np.nan_to_num(x[:, 0]))
    assert search.best_params_["memoryimputer__seed"] in (0, 1)


def test_a_conformal_alarm_is_raised_as_often_as_said():
    x = rows(1400)
    novelty = MemoryNovelty(alarm=0.05, threads=1).fit(x[:700])
    wrong = np.mean(novelty.predict(x[700:]) == -1)
    assert wrong < 0.1  # 0.05 of 700 is 35 +- 6 if the rows are exchangeable
    assert np.all(novelty.predict(x[:20, ::-1] * 3) == -1)
    np.testing.assert_array_equal(novelty.predict(x[700:]) == -1, novelty.typicality(x[700:]) <= 0.05)


def test_contamination_says_how_many_of_the_fit_are_outliers():
    x = rows(200)
    assert np.sum(MemoryNovelty(contamination=0.1, **SMALL).fit_predict(x) == -1) == 20
    with pytest.raises(ValueError, match="contamination is 0.7"):
        MemoryNovelty(contamination=0.7, **SMALL).fit(x)


@pytest.mark.skipif("BPCN" not in os.environ, reason="the program bpcn is not there")
def test_with_defaults_it_is_the_programs_create_like_write_and_fill(tmp_path):
    x = rows(300, seed=3)
    x[::9, 4] = np.nan
    gaps, hidden = holes(rows(40, seed=3) + 0.1, 0.3)
    for name, table in (("learn", x), ("gaps", gaps)):
        pd.DataFrame(table, columns=list("abcdef")).to_csv(tmp_path / f"{name}.csv", index=False)
    calls = ["create t.mem --like learn.csv", "write t.mem learn.csv --clip", "fill t.mem gaps.csv -o full.csv --clip"]
    for call in calls:
        arguments = [os.environ["BPCN"], *call.split(), "-q"]
        subprocess.run(arguments, cwd=tmp_path, check=True, env={**os.environ, "BPCN_THREADS": "1"})
    imputer = MemoryImputer(threads=1).fit(x)
    filled, std = imputer.transform(gaps, return_std=True)
    with Memory.open(tmp_path / "t.mem", clip=True, threads=1) as program:
        ours = {key: program.options[key] for key in ("threads", "names")}  # the program keeps names of rows
        assert program.options == {**imputer.memory_.options, **ours}
        some = hidden.any(axis=1)
        low, high = ([getattr(column, bound) for column in program.columns] for bound in ("low", "high"))
        filled = np.where(hidden, np.clip(filled, low, high), filled)  # the program fills between the bounds seen
        answer = program.read(gaps[some], spread=True)
        np.testing.assert_array_equal(filled[some], answer.x)  # the same bits: of every row, centre, scale and setting
        np.testing.assert_array_equal(std[some], answer.spread)
        scale = np.array([column.scale for column in program.columns])
    written = pd.read_csv(tmp_path / "full.csv").to_numpy()
    assert np.abs((filled - written) / scale).max() <= 0.00051  # it writes thousandths of the scale


def test_the_spread_is_that_of_the_errors_and_is_pickled():
    x = rows(500, seed=4) + np.random.default_rng(0).normal(size=(500, 6)) * [0.5, 5, 50, 0.5, 2.5, 0.05]
    gaps, hidden = holes(x[350:], 0.3)
    imputer = MemoryImputer(threads=1).fit(x[:350])
    filled, std = imputer.transform(gaps, return_std=True)
    assert (std[~hidden] == 0).all() and (std[hidden] > 0).all()
    within = np.mean(np.abs(filled - x[350:])[hidden] <= 2 * std[hidden])
    assert within > 0.85  # of a normal distribution 0.95
    again = pickle.loads(pickle.dumps(imputer))
    np.testing.assert_array_equal(again.transform(gaps, return_std=True)[1], std)


# What scikit-learn 1.6 and later have where 1.2 has _more_tags and _validate_data: each class adds to the tags of those
# behind it, and input is looked at by a function.
NEWER = {
    "__init__.py": "",
    "base.py": """
        from types import SimpleNamespace

        class BaseEstimator:
            def __sklearn_tags__(self):
                return SimpleNamespace(estimator_type=None, transformer_tags=None, input_tags=SimpleNamespace(allow_nan=False))

        class TransformerMixin:
            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.transformer_tags = SimpleNamespace(preserves_dtype=["float64"])
                return tags

            def fit_transform(self, X):
                return self.fit(X).transform(X)

        class OutlierMixin:
            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.estimator_type = "outlier_detector"
                return tags

        class OneToOneFeatureMixin:
            pass
        """,
    "utils/__init__.py": "",
    "utils/validation.py": """
        import numpy as np

        def check_is_fitted(estimator, attribute):
            assert hasattr(estimator, attribute)

        def validate_data(estimator, X, *, reset, dtype, ensure_all_finite):
            assert ensure_all_finite == "allow-nan"
            return np.asarray(X, dtype)
        """,
}


def test_a_newer_scikit_learn_finds_its_tags_and_its_look_at_the_input(tmp_path):
    for name, text in NEWER.items():
        path = tmp_path / "sklearn" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    program = f"""if True:
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import numpy as np, sklearn
        assert sklearn.__file__.startswith({str(tmp_path)!r})
        from bayespcn.sklearn import MemoryImputer, MemoryNovelty
        x = np.random.default_rng(0).normal(size=(60, 3))
        imputer, novelty = MemoryImputer(**{SMALL}), MemoryNovelty(**{SMALL})
        tags = imputer.__sklearn_tags__()
        assert tags.input_tags.allow_nan and tags.transformer_tags is not None
        tags = novelty.__sklearn_tags__()
        assert tags.input_tags.allow_nan and tags.estimator_type == "outlier_detector"
        x[3, 1] = np.nan
        assert np.isfinite(imputer.fit_transform(x)).all()
        assert set(novelty.fit(x).predict(x)) <= {{-1, 1}}
    """
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
