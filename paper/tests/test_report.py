"""The report: what it counts, says and draws. Cells are made up here; plan.csv is the committed one."""

import csv
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAPER = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PAPER))
import report  # noqa: E402

WHITE = ("recall", "cifar10, white0.2")
NAN = float("nan")


def near(x, y):
    return abs(x - y) < 1e-12


@pytest.fixture(scope="module")
def plan():
    return list(csv.DictReader((PAPER / "results" / "plan.csv").open(encoding="utf-8")))


@pytest.fixture
def results(tmp_path, plan):
    """Makes a folder of the cells {(experiment, title, row, length, seed): {measure: value}} and of the plan of their
    experiments, and reads it. Without cells the plan is all of it."""
    def make(cells):
        places = {(p["experiment"], p["title"], p["row"], int(p["length"])): p for p in plan}
        names = sorted({m for numbers in cells.values() for m in numbers} | {"mse"})
        made = ("commit", "kernels", "date", "cpu", "code")
        lines = [",".join(["cell", *names, *made])]
        for (experiment, title, row, length, seed), numbers in cells.items():
            place = places[experiment, title, row, length]
            assert seed < int(place["seeds"])
            lines.append(",".join([place["cell"].format(seed=seed), *(str(numbers.get(n, "")) for n in names),
                                   *(numbers.get(n, place["code"] if n == "code" else "") for n in made)]))
        (tmp_path / "cells.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        experiments = {key[0] for key in cells}
        with (tmp_path / "plan.csv").open("w", encoding="utf-8") as file:
            table = csv.DictWriter(file, plan[0].keys())
            table.writeheader()
            table.writerows(p for p in plan if not cells or p["experiment"] in experiments)
        return report.Results(tmp_path)
    return make


def place(results, experiment, title, row):
    table = next(t for t in results.of(experiment) if t.title == title)
    return table, next(r for r in table.rows if r.label == row)


def counted(results):
    page = report.Page()
    report.counts_page(results, page)
    report.exceptions_page(results, page)
    return page.markdown()

# ---- a figure beside the paper's


def test_a_figure_agrees_within_a_tenth_or_two_deviations_of_what_has_the_printed_digits():
    for ours, paper, deviation, agrees in (
            (0.0371, 0.0337, 0.0007, True), (0.0372, 0.0337, 0.0007, False),  # a tenth of 0.03375
            (0.0302, 0.0337, NAN, False), (0.0303, 0.0337, NAN, True),        # and of 0.03365
            (0.0023, 0.0017, 0.0003, True), (0.0024, 0.0017, 0.0003, False),  # two deviations
            (0.00038, 0.0003, 0, True), (0.00039, 0.0003, 0, False),          # a tenth of 0.00035
            (0.00005, 0.0000, 0, True), (0.00006, 0.0000, 0, False),          # what the paper has as 0.0000
            (0.00016, 0.0001, NAN, True), (0.00017, 0.0001, NAN, False),      # a tenth of 0.00015
            (0.000046, 0.0001, NAN, True), (0.000044, 0.0001, NAN, False),    # less is no agreement either
            (NAN, 0.1, 0.1, False)):
        assert report.agrees(ours, paper, deviation) is agrees, (ours, paper, deviation)


def test_a_figure_is_above_or_below_beyond_both_deviations_together(results):
    """The paper: 0.0337 +- 0.0007 at 1024, and a unit of its last digit between figure and deviation."""
    for mse, relation in ((0.0328, "below"), (0.03291, "same"), (0.0337, "same"), (0.03449, "same"), (0.0346, "above")):
        r = results({(*WHITE, "bayespcn", 1024, 0): {"mse": mse}})
        f = report.figure_of(r, *place(r, *WHITE, "bayespcn"), 1024)
        assert (f.relation, f.paper) == (relation, 0.0337) and math.isnan(f.deviation)
    r = results({(*WHITE, "bayespcn", 1024, s): {"mse": m} for s, m in enumerate((0.0346, 0.0356))})
    f = report.figure_of(r, *place(r, *WHITE, "bayespcn"), 1024)
    assert near(f.deviation, 0.001 / math.sqrt(2)) and f.relation == "same"  # its own deviation counts too
    assert report.relation_of(NAN, NAN, 0.1, NAN) is None and report.relation_of(0.1, NAN, NAN, NAN) is None


def test_the_queries_tell_the_spread_where_the_seeds_do_not(results):
    """Ours is 0.0020 above the paper's 0.0337 +- 0.0007, of queries with a standard error of 0.0020."""
    def figure(deviation, queries, seeds, measure="mse"):
        r = results({(*WHITE, "bayespcn", 1024, s): {"mse": 0.0357, "mse_std": deviation, "queries": queries}
                     for s in range(seeds)})
        return report.figure_of(r, *place(r, *WHITE, "bayespcn"), 1024, measure)
    f = figure(0.064, 1024, 1)
    assert math.isnan(f.deviation) and near(f.spread, 0.002) and f.relation == "same"
    assert math.isnan(figure(0.064, 1024, 1, "queries").spread)  # of the error alone
    assert figure(0.0064, 1024, 1).relation == "above"
    f = figure(0.064, 1024, 3)  # every image read, three seeds: theirs alone
    assert f.spread == f.deviation < 1e-9 and f.relation == "above"
    f = figure(0.016, 64, 3)  # few images read: the larger of the two
    assert near(f.spread, 0.002) and f.relation == "same"


def test_a_slip_of_the_paper_is_told_and_not_compared(results):
    table, row = "cifar10, white0.8", "mhn"
    r = results({("high-noise", table, row, 128, 0): {"mse": 0}})
    assert report.figure_of(r, *place(r, "high-noise", table, row), 128).relation is None
    page = report.Page()
    report.experiment_page(r, "high-noise", page)
    assert page.markdown().count("slip") == 1
    for length in (16, 32, 64, 128):  # it is what its sentence says
        slip, _ = r.paper["high-noise", "cifar10", "white", "MHN", length]
        identity, deviation = r.paper["high-noise", "cifar10", "white", "Identity", length]
        assert slip == deviation < identity / 100


def test_the_reason_of_a_figure_above_names_the_best_of_the_other_rows_alone(results):
    """The paper: 0.0337 +- 0.0007."""
    paper = "bayespcn, as the paper does it"
    r = results({(*WHITE, "bayespcn (paper objective)", 1024, 0): {"mse": 0.0300}, (*WHITE, paper, 1024, 0): {"mse": 0.4},
                 (*WHITE, "bayespcn", 1024, 0): {"mse": 0.0290}})
    assert report.reason_text(r, *place(r, *WHITE, paper), 1024) == "The row bayespcn has 0.0290."
    r = results({(*WHITE, "bayespcn", 1024, 0): {"mse": 0.4}, (*WHITE, paper, 1024, 0): {"mse": 0.5}})
    assert report.reason_text(r, *place(r, *WHITE, paper), 1024) == ""  # the other is above too


def test_the_papers_figures_are_where_they_should_be():
    paper = report.read_paper()
    assert paper["recall", "cifar10", "white", "BayesPCN", 1024] == (0.0337, 0.0007)
    assert paper["depth", "tiny-imagenet", "white", "BayesPCN L4", 1024][0] == 12.4499
    assert paper["high-noise", "cifar10", "mask", "MHN", 16][0] == 0.3361
    value, deviation = paper["sigma", "cifar10", "mask", "5.0 0.005", 1024]
    assert value == 6.8712 and math.isnan(deviation)
    assert ("recall", "cifar10", "white", "BayesPCN", 100) not in paper


def test_every_row_of_the_plan_that_names_a_figure_of_the_paper_finds_it(results):
    r = results({})
    found = [report.figure_of(r, t, row, n) for t in r.tables for row in t.rows for n in t.lengths if row.paper[1]]
    assert len(found) > 500 and not any(math.isnan(f.paper) for f in found)

# ---- counts


def test_of_several_rows_for_a_figure_the_best_is_counted_once_and_exceptions_are_told(results):
    """The paper, white noise: 0.0017 +- 0.0003 at 128, 0.0085 +- 0.0002 at 256, 0.0337 +- 0.0007 at 1024; GPCN 0.0103."""
    relu, gelu = "bayespcn, 256x3 relu, N = 4, as the paper does it", "bayespcn, as the paper does it"
    r = results({(*WHITE, relu, 128, 0): {"mse": 0.0018}, (*WHITE, gelu, 128, 0): {"mse": 0.0058},
                 (*WHITE, relu, 256, 0): {"mse": 0.9}, (*WHITE, gelu, 256, 0): {"mse": 0.0120},
                 (*WHITE, gelu, 1024, 0): {"mse": 0.0437, "mse_std": 0.02, "queries": 16},
                 (*WHITE, "bayespcn", 512, 0): {"mse": 0.0146},  # ours: not the paper's method
                 (*WHITE, "gpcn online, 1024x3, as the paper does it", 128, 0): {"mse": 0.0104},
                 (*WHITE, "mhn (true dot product)", 128, 0): {"mse": 0}})
    found = {m: list(report.compared(r, m, r.of("recall", "cifar10"))) for m in report.METHODS}
    def of(method):
        there = [p for p in found[method] if p.figure.seeds]
        return len(found[method]), len(there), sum(p.figure.agrees for p in there)
    assert of(report.METHODS[0]) == (24, 3, 1)  # with and without forgetting, 12 each
    assert of(report.METHODS[2]) == (12, 1, 1)
    assert of(report.METHODS[3])[1] == 0
    text = counted(r)
    assert ("2 do not agree: 0 are no further from the paper's figure than the spread of both, 0 are below it and 2 "
            "above. The marks of the tables go by that spread: 0 figures that agree have one.") in text
    assert "Of BayesPCN's figures that are above 0.0001 in the paper 1 of 3 agree. Of all 1 that agree 1 are" in text
    assert f"| recall, cifar10, white0.2, {gelu} | 256 | 0.0120 | 0.0085 ± 0.0002 | +41 % |  |" in text
    assert "| 1024 | 0.0437 | 0.0337 ± 0.0007 | +30 % | 2.0 |" in text
    assert "0.9" not in text


def test_where_the_paper_has_no_deviation_our_seeds_tell_one(results):
    """The paper, sigma_w 5, sigma_x 0.005: 0.3738 at 16 images, 1.4906 at 32, 2.2916 at 64; no deviations."""
    row = "sigma_w 5, sigma_x 0.005, as the paper does it"
    seeds = {16: (1.3006, 0.6999, 0.1819), 32: (1.80, 1.81, 1.82), 64: (3.5, 1.9)}
    r = results({("sigma", "cifar10, white0.2", row, n, s): {"mse": x, "identity_mse": 0.16, "mse_max": 4 * x, "queries": 16}
                 for n, errors in seeds.items() for s, x in enumerate(errors)})
    text = counted(r)  # two seeds tell too little
    assert ("It gives 3 without: 0 are within 10 %, and 1, 33 %, are within that or two deviations of our own three "
            "seeds. By that rule 1 of all 3 agree, 33 %.") in text
    assert "with a deviation" not in text
    assert "| all that agree, or are within the spread of both |  |  |  |  | **67 %**: 2 of 3," in text
    assert ("| Within two deviations of our seeds. By seed: 1.3006, 0.6999, 0.1819. Worse than the queries themselves, "
            "which were off by 0.1600. The worst of its 16 reads has 25 % of the error. |") in text
    r = results({(*WHITE, "bayespcn, as the paper does it", 1024, s): {"mse": 0.03 + 0.03 * s} for s in range(3)})
    text = counted(r)
    assert "The paper gives 1 of BayesPCN's figures with a deviation: 0 of them agree, 0 %." in text
    assert "It gives" not in text


def test_the_committed_results_agree_as_the_page_says():
    r = report.Results(PAPER / "results")
    lines = "\n".join(report.counted_lines(r))
    assert "| BayesPCN, with a deviation in the paper | 139 of 144 |" in lines
    assert "| **BayesPCN, both together** | **311 of 333, 93 %** |" in lines
    assert re.findall(r"\| (?:GPCN|MHN).* \| (.*) \|", lines) == ["22 of 24", "22 of 24", "44 of 44"]
    assert lines in (PAPER / "results" / "README.md").read_text(encoding="utf-8")
    assert counted(r) in (PAPER / "results" / "agreement.md").read_text(encoding="utf-8").replace(
        "## Those that do not agree\n\n", "")

# ---- single experiments


def test_what_the_paper_says_of_forgetting_is_held_against_the_cells(results):
    """Without forgetting 0.010 for the oldest to 0.025 for the latest; with it the latest group's error falls but once."""
    betas = ("0", "0.001", "0.002", "0.005", "0.01", "0.02")
    latest, whole = (0.025, 0.008, 0.006, 0.007, 0.004, 0.003), (0.02, 0.01, 0.011, 0.012, 0.013, 0.02)
    cells = {}
    for i, beta in enumerate(betas):
        oldest = 0.01 if i == 0 else 0.05
        cells["forget", "cifar10, white0.2", f"beta {beta}", 1024, 0] = {
            "mse": whole[i], **{f"age_{a}": oldest + (latest[i] - oldest) * a / 15 for a in range(16)}}
    page = report.Page()
    report.forget_page(results(cells), page)
    assert "| cifar10, white0.2 | as the paper does it | not all computed: 0 of 6 rows |" in page.markdown()
    assert ("| cifar10, white0.2 | ours | 2.50 | 5 of 5 strengths | not at 1 of 5 steps, first to beta 0.005 (0.00700) | "
            "beta 0.001 |") in page.markdown()


def test_the_best_of_the_search_has_the_least_mean_logarithm_and_needs_every_cell(results):
    """Ours at 0.01, but for a row that is best at 128 and one that is best at 512 by more; dropout that counts as 0."""
    early, late, tiny = "256x3 relu, N = 4", "512x3 gelu, N = 1", "1024x3 relu, N = 1"
    cells = {("search", f"cifar10, {task}", f"{w}x3 {a}, N = {n}", length, 0): {"mse": 0.01 if task[0] != "d" else 4e-5}
             for task in ("white0.2", "drop0.25", "mask0.25") for w in (256, 512, 1024) for a in ("gelu", "relu")
             for n in (1, 4) for length in (128, 512)}
    for task in ("white0.2", "mask0.25"):
        cells["search", f"cifar10, {task}", early, 128, 0]["mse"] = 0.005
        cells["search", f"cifar10, {task}", late, 512, 0]["mse"] = 0.004
    cells["search", "cifar10, drop0.25", tiny, 128, 0]["mse"] = 1e-9
    r = results(cells)
    assert report.search_best(r, "cifar10", "ours", None, 128).row.label == early
    assert report.search_best(r, "cifar10", "ours", "white0.2", 512).row.label == late
    best = report.search_best(r, "cifar10", "ours")
    assert best.row.label == late and (best.there, best.planned) == (72, 72)
    assert abs(best.error - (0.01 ** 2 * 0.004 ** 2 * 5e-5 ** 2) ** (1 / 6)) < 1e-9
    page = report.Page()
    report.search_page(r, page)
    assert "cifar10, as the paper does it: not all computed: 0 of 72 cells." in page.markdown()
    assert "cifar10, ours: **512x3 gelu, N = 1**" in page.markdown()
    del cells["search", "cifar10, mask0.25", late, 512, 0]  # what is not there can be no best
    assert report.search_best(results(cells), "cifar10", "ours").row.label == early


def test_the_committed_best_of_the_search_is_a_row_of_recall():
    r = report.Results(PAPER / "results")
    for role in ("paper", "ours"):
        best = report.search_best(r, "cifar10", role)
        assert best.there == best.planned
        assert f"best of search: {best.row.label}"[:63] in [row.label for row in r.of("recall", "cifar10")[0].rows]


def test_hours_are_of_the_longest_length_that_all_tasks_have_and_writes_count_once(results):
    tasks = ("white0.2", "drop0.25", "mask0.25")
    cells = {("recall", f"cifar10, {t}", "bayespcn", 256, 0): {
        "mse": 0.01, "write_seconds": 512, "read_seconds": 36, "queries": 32} for t in tasks}
    for t in tasks[:2]:
        cells["recall", f"cifar10, {t}", "bayespcn", 512, 0] = {
            "mse": 0.01, "write_seconds": 9999, "read_seconds": 9999, "queries": 32}
    r = results(cells)
    page = report.Page()
    report.times_page(r, page, ("recall",))
    # 2 s an image; 1.125 s a query, 768 of them 0.24 hours
    assert "| cifar10 | 256 | 0.142 | 2 | 96 | 0.03 | 1.12 | 0.24 | not told |" in page.markdown()
    assert "4 particles | not told | 1024 | 3 | 10.5 | not told | 3 |" in page.markdown()
    assert "mhn" not in page.markdown()
    assert report.seconds_of(r, "recall") == 9999 + 3 * 36 + 2 * 9999  # of the first task the longest write


def test_what_an_offline_network_learns_counts_as_writing_or_is_said_to_be_not_timed(results):
    label = "gpcn offline, 256x3 relu, 200 steps, best version"
    for learn, wanted in (({"learn_seconds": 255.5}, "0.0711 | 2"), ({}, "not timed | not timed")):
        r = results({("recall", f"cifar10, {t}", label, 128, 0): {
            "mse": 0.01, "write_seconds": 0.5, "read_seconds": 36, "queries": 128, **learn}
            for t in ("white0.2", "drop0.25", "mask0.25")})
        page = report.Page()
        report.times_page(r, page, ("recall",))
        assert f"| cifar10 | 128 | {wanted} | 384 | 0.03 | 0.281 | 0.03 | not told |" in page.markdown()

# ---- provenance


def test_a_cell_of_other_code_is_marked_unless_its_kind_is_vouched_for(results, plan, tmp_path):
    code = next(p["code"] for p in plan if p["row"] == "bayespcn")
    for vouched, text in (("0", "0.0100°"), ("1", "0.0100")):
        r = results({(*WHITE, "bayespcn", 512, 0): {"mse": 0.01, "code": "other", "commit": "abc"},
                     (*WHITE, "bayespcn", 128, 0): {"mse": 0.01, "code": code}})
        lines = (tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()
        (tmp_path / "plan.csv").write_text("\n".join([lines[0], *(line[:-1] + vouched for line in lines[1:])]) + "\n",
                                           encoding="utf-8")
        r = report.Results(tmp_path)
        table, row = place(r, *WHITE, "bayespcn")
        assert report.figure_text(report.figure_of(r, table, row, 512)).split()[0] == text
        assert report.figure_text(report.figure_of(r, table, row, 128)).split()[0] == "0.0100"
        page = report.Page()
        report.provenance(r, r.of("recall"), page)
        assert ("stale" in page.markdown()) == (vouched == "0")
        assert "cells of commit abc" in page.markdown()


def test_a_last_line_without_an_end_is_no_cell(results, tmp_path):
    results({(*WHITE, "bayespcn", 1024, 0): {"mse": 0.5}})
    with (tmp_path / "cells.csv").open("a", encoding="utf-8") as file:
        file.write("cifar10-torn,0.")
    assert [c["mse"] for c in report.read_csv(tmp_path / "cells.csv")] == ["0.5"]

# ---- charts and pages


def test_names_of_one_colour_have_marks_of_their_own(results):
    rows = ("bayespcn, 256x3 relu, N = 4, as the paper does it", "bayespcn, as the paper does it", "bayespcn")
    r = results({(*WHITE, row, 128, 0): {"mse": 0.005} for row in rows})
    look = report.styles(list(report.by_length(r, r.of("recall", "cifar10")[0])))
    assert look[rows[0]][0] == look[rows[1]][0] != look[rows[2]][0]
    assert len(set(look.values())) == len(look) >= 4  # the paper's line among them


def test_an_error_of_zero_is_drawn_at_the_least_and_bars_end_there():
    figure, axes = report.plt.subplots()
    axes.set_yscale("log")
    line = report.SimpleNamespace(name="a", x=["256", "16", "1024"], y=[1e-9, 1e-3, NAN], error=[1, 1, NAN], dashed=False)
    report.draw_lines(axes, [line], {"a": ("black", "o")}, False)
    data = axes.containers[0].lines[0]
    assert list(data.get_ydata()) == [report.LEAST, 1e-3]
    assert list(data.get_xdata()) == [1, 0]  # by rising number, whatever comes first; what is no number is left out
    lower = axes.containers[0].lines[2][0].get_segments()[1][0][1]
    assert abs(lower / report.LEAST - 1) < 1e-6
    report.plt.close(figure)


def test_the_report_names_no_path_escapes_text_and_is_the_same_again(results, tmp_path):
    tasks = ("white0.2", "drop0.25", "mask0.25")
    results({("recall", f"cifar10, {t}", row, n, 0): {"mse": 0.01 / n, "queries": 8, "write_seconds": 1, "read_seconds": 1}
             for t in tasks for row in ("bayespcn", "nearest") for n in (128, 256)})
    (tmp_path / "README.md").write_text("before\n<!-- counted -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    written = []
    for _ in range(2):
        subprocess.run([sys.executable, PAPER / "report.py", tmp_path], check=True, timeout=300)
        written.append({p.relative_to(tmp_path): p.read_bytes() for p in sorted(tmp_path.rglob("*")) if p.is_file()})
    assert written[0] == written[1]
    names = {str(p) for p in written[0]}
    assert {"recall.csv", "recall.md", "report.html", "agreement.md", "agreement.svg", "charts/recall-cifar10.svg"} <= names
    assert not any(str(tmp_path).encode() in content for content in written[0].values())
    assert "depth.md" not in names and not any(".new" in n for n in names)  # what has no cells has no page
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("before\n<!-- counted -->\n\n| figures") and readme.endswith("\n\n<!-- end -->\nafter\n")
    assert report.inline("a<b & **c** `d` *e* 2*3*4 [f](g)") == \
        'a&lt;b &amp; <b>c</b> <code>d</code> <i>e</i> 2*3*4 <a href="g">f</a>'


def test_a_page_without_both_marks_stays_as_it_is(results, tmp_path):
    r = results({(*WHITE, "bayespcn", 1024, 0): {"mse": 0.5}})
    report.write_readme(r)
    assert not (tmp_path / "README.md").exists()
    (tmp_path / "README.md").write_text("<!-- counted -->\nold\n", encoding="utf-8")
    report.write_readme(r)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "<!-- counted -->\nold\n"


def test_a_folder_without_cells_gets_a_sentence(tmp_path):
    done = subprocess.run([sys.executable, PAPER / "report.py", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cells.csv: No such file or directory; bpcn-paper reproduce writes" in done.stderr


def test_a_table_of_another_version_gets_a_sentence(results, tmp_path):
    results({})
    (tmp_path / "cells.csv").write_text("cell,mse\n", encoding="utf-8")
    done = subprocess.run([sys.executable, PAPER / "report.py", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.endswith("cells.csv has no column code: it is not of this version\n")
