"""The estimators keep scikit-learn's contract."""
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from bayespcn import Memory
from bayespcn.readout import Readout
from bayespcn.sklearn import MemoryClassifier, MemoryImputer, MemoryNovelty, MemoryRegressor

SMALL = {"threads": 1}
ESTIMATORS = [
    MemoryImputer(**SMALL),
    MemoryNovelty(**SMALL),
    MemoryNovelty(contamination=0.1, **SMALL),
    MemoryNovelty(contamination=0.01, seed=3, **SMALL),
    MemoryClassifier(**SMALL),
    MemoryClassifier(rows=20, **SMALL),
    MemoryRegressor(**SMALL),
    MemoryRegressor(rows=20, **SMALL),
]
ran = []


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
    ran.append(repr(estimator))


def test_all_of_those_checks_ran():
    for estimator in ESTIMATORS:
        assert ran.count(repr(estimator)) == len(list(check_estimator(estimator, generate_only=True))) >= 30, estimator


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
    novelty = MemoryNovelty(contamination=0.1, **SMALL)
    assert np.sum(novelty.fit_predict(x) == -1) == 20 == novelty.labels_.sum()
    np.testing.assert_array_equal(novelty.labels_ == 1, novelty.decision_scores_ > novelty.threshold_)
    with pytest.raises(ValueError, match="contamination is 0.7"):
        MemoryNovelty(contamination=0.7, **SMALL).fit(x)


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("n", [30, 100, 500])
def test_few_fresh_rows_are_outliers_whether_learnt_at_once_or_in_parts(n, parts):
    wrong = []
    for seed in range(6 if n < 500 else 2):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n + 1000, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(n + 1000, 6))
        novelty = MemoryNovelty(contamination=0.01, **SMALL)
        for part in np.array_split(x[:n], parts):
            novelty.partial_fit(part)
        wrong.append(np.mean(novelty.predict(x[n:]) == -1))
    assert np.mean(wrong) < 0.04  # measured 0.006 to 0.03 (docs/PYTHON.md)


def test_an_alarm_that_cannot_be_raised_yet_says_so():
    x = rows(120)
    novelty = MemoryNovelty(**SMALL)
    with pytest.warns(UserWarning, match="an alarm of 0.01 takes 99 rows, and 60 were learnt"):
        novelty.partial_fit(x[:60])
    assert (novelty.predict(1e3 * x) == 1).all()
    novelty.partial_fit(x[60:])
    assert (novelty.predict(x[:5, ::-1] * 3) == -1).all()


def labelled(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(classes, 8)) * 2
    own = rng.integers(0, classes, n)
    return centres[own] + rng.normal(size=(n, 8)), np.array(["ant", "bee", "cat", "dog"])[own]


def test_a_classifier_is_at_least_as_good_as_logistic_regression():
    x, y = labelled(90)
    ask, right = labelled(1000, seed=1)
    ours = np.mean(MemoryClassifier(**SMALL).fit(x, y).predict(ask) == right)
    assert ours >= LogisticRegression().fit(x, y).score(ask, right) - 0.02  # as docs/PYTHON.md measures on tables
    chances = MemoryClassifier(**SMALL).fit(x, y).predict_proba(ask)
    sure = chances.max(axis=1)
    assert abs(sure.mean() - ours) < 0.08  # what it says is how often it is right


def test_a_classifier_takes_gaps_and_classes_that_come_later():
    x, y = labelled(300, classes=4)
    ask, right = labelled(400, seed=1, classes=4)
    gaps = np.where(np.random.default_rng(2).random(x.shape) < 0.2, np.nan, x)
    early = y != "dog"
    classifier = MemoryClassifier(**SMALL).fit(gaps[early], y[early])
    assert list(classifier.classes_) == ["ant", "bee", "cat"]
    classifier.partial_fit(gaps[~early], y[~early])
    assert list(classifier.classes_) == ["ant", "bee", "cat", "dog"]
    ask = np.where(np.random.default_rng(3).random(ask.shape) < 0.2, np.nan, ask)
    filled = SimpleImputer().fit(gaps)
    peer = LogisticRegression().fit(filled.transform(gaps), y).score(filled.transform(ask), right)
    assert np.mean(classifier.predict(ask) == right) > peer - 0.03


def test_with_a_row_of_each_class_the_nearest_decides():
    x, y = labelled(200)
    first = [int(np.argmax(y == one)) for one in np.unique(y)]
    ask, _ = labelled(300, seed=1)
    ours = MemoryClassifier(**SMALL).fit(x[first], y[first]).predict(ask)
    np.testing.assert_array_equal(ours, KNeighborsClassifier(1).fit(x[first], y[first]).predict(ask))


def test_dictionaries_are_learnt_one_by_one():
    x, y = labelled(150)
    classifier, novelty, regressor = MemoryClassifier(**SMALL), MemoryNovelty(**SMALL), MemoryRegressor(**SMALL)
    assert classifier.predict_one({"a": 1.0}) is None and novelty.score_one({}) == regressor.predict_one({}) == 0
    right = 0
    for at, (row, own) in enumerate(zip(x, y)):
        one = dict(zip("abcdefgh", row))
        if at >= 50:
            right += classifier.predict_one(one) == own
        classifier.learn_one(one, own)
        novelty.learn_one(one)
        regressor.learn_one(one, row[0] + row[1])
    whole = np.mean(MemoryClassifier(**SMALL).fit(x[:50], y[:50]).predict(x[50:]) == y[50:])
    assert right / 100 > whole - 0.05
    assert abs(regressor.predict_one(one) - row[0] - row[1]) < 0.2
    gap = {key: value for key, value in one.items() if key != "c"}
    assert sum(classifier.predict_proba_one(gap).values()) == pytest.approx(1)
    assert novelty.score_one({key: 100.0 for key in "abcdefgh"}) > novelty.score_one(one)
    assert novelty.decision_scores_.shape == (150,)


def test_a_dictionary_goes_on_where_fit_ended():
    x, y = labelled(100)
    classifier = MemoryClassifier(**SMALL).fit(pd.DataFrame(x, columns=list("abcdefgh")), y)
    one = dict(zip("hgfedcba", x[3, ::-1]))
    assert classifier.predict_one(one) == classifier.predict(pd.DataFrame([one])[list("abcdefgh")])[0]
    assert classifier.learn_one(one, y[3]).learn_one(one, y[3]).readout_.n == 102


def wavy(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, size=(n, 3))
    return x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2 + 0.2 * rng.normal(size=n)


def test_a_regressor_is_a_gaussian_process_and_its_intervals_hold():
    held = []
    for seed in range(4):
        x, y = wavy(150, seed)
        ask, right = wavy(500, seed + 50)
        mean, std = MemoryRegressor(**SMALL).fit(x, y).predict(ask, return_std=True)
        process = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True, random_state=0).fit(x, y)
        ours, theirs = (np.sqrt(np.mean((one - right) ** 2)) for one in (mean, process.predict(ask)))
        assert ours < 1.15 * theirs
        held.append(np.mean(np.abs(mean - right) < 1.645 * std))
    assert 0.86 < np.mean(held) < 0.95  # 2000 answers by four fits


def test_a_read_out_that_keeps_all_rows_is_the_dense_solution():
    x, y = wavy(60, 0)
    readout = Readout(100)
    readout.learn(x, y[:, np.newaxis])
    ask, _ = wavy(20, 1)
    mean = variance = 0
    for member in readout.members:
        kernel = readout.kernels[member.kernel]
        K = kernel.of(x, x) + member.ratio * np.eye(60)
        k = kernel.of(ask, x)
        one = y.mean() + k @ np.linalg.solve(K, y - y.mean())
        signal = (y - y.mean()) @ np.linalg.solve(K, y - y.mean()) / 58
        spread = signal * (kernel.own(ask) - (k * np.linalg.solve(K, k.T).T).sum(axis=1) + member.ratio * (1 + 1 / 60))
        mean, variance = mean + member.weight * one, variance + member.weight * (spread + one**2)
    ours, theirs = readout.predict(ask, True)
    # directions of K below 1e-10 of the greatest are left out of the codes, and ratios are 1e-4 and more
    np.testing.assert_allclose(ours[:, 0], mean, rtol=0, atol=1e-6)
    np.testing.assert_allclose(theirs[:, 0], variance - mean**2, rtol=1e-4)


def test_rows_that_are_not_kept_are_learnt_all_the_same():
    x, y = wavy(500, 0)
    ask, right = wavy(500, 1)
    few, all_, only = (MemoryRegressor(rows=n, **SMALL) for n in (60, 1000, 60))
    for at in range(0, 500, 25):  # steps in which kernels are and are not chosen anew
        few.partial_fit(x[at : at + 25], y[at : at + 25])
    error = {name: np.std(one.predict(ask) - right) for name, one in
             {"few": few, "all": all_.fit(x, y), "only": only.fit(x[:60], y[:60])}.items()}  # fmt: skip
    assert error["few"] < 0.8 * error["only"] and error["few"] < 1.3 * error["all"]
    assert few.readout_.n == 500 and len(few.readout_.x) == 60


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

        class ClassifierMixin:
            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.estimator_type = "classifier"
                return tags

        class RegressorMixin:
            def __sklearn_tags__(self):
                tags = super().__sklearn_tags__()
                tags.estimator_type = "regressor"
                return tags

        class OneToOneFeatureMixin:
            pass
        """,
    "utils/__init__.py": "",
    "utils/multiclass.py": """
        def check_classification_targets(y):
            pass
        """,
    "utils/validation.py": """
        import numpy as np

        def check_is_fitted(estimator, attribute):
            assert hasattr(estimator, attribute)

        def check_consistent_length(*arrays):
            assert len({len(one) for one in arrays}) == 1

        def column_or_1d(y, warn=False):
            return np.asarray(y)

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
        from bayespcn.sklearn import MemoryClassifier, MemoryImputer, MemoryNovelty, MemoryRegressor
        x = np.random.default_rng(0).normal(size=(60, 3))
        imputer, novelty = MemoryImputer(**{SMALL}), MemoryNovelty(**{SMALL})
        tags = imputer.__sklearn_tags__()
        assert tags.input_tags.allow_nan and tags.transformer_tags is not None
        tags = novelty.__sklearn_tags__()
        assert tags.input_tags.allow_nan and tags.estimator_type == "outlier_detector"
        x[3, 1] = np.nan
        assert np.isfinite(imputer.fit_transform(x)).all()
        assert set(novelty.fit(x).predict(x)) <= {{-1, 1}}
        for estimator, kind in ((MemoryClassifier(**{SMALL}), "classifier"), (MemoryRegressor(**{SMALL}), "regressor")):
            tags = estimator.__sklearn_tags__()
            assert tags.input_tags.allow_nan and tags.estimator_type == kind
            assert set(estimator.fit(x, np.arange(60) % 2).predict(x).round()) <= {{0, 1}}
    """
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
