#!/usr/bin/python3
"""Writes the laboratory's report from DIR/plan.csv and DIR/cells.csv: a table of every experiment (.csv, .md), charts
(charts/*.svg), the counts of agreement with the paper (agreement.md, agreement.svg, and in README.md between the lines
<!-- counted --> and <!-- end -->), and one page with all of it (report.html).

bpcn-paper reproduce computes the cells and writes plan.csv, which says where each of them stands. The paper's own
figures are in paper_figures.csv beside this script. Needs python3-matplotlib and python3-numpy."""

import argparse
import csv
import html
import math
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

NAN = float("nan")
DATASETS = ("cifar10", "tiny-imagenet", "fashion-mnist")
AGES = 16  # groups of images by age; cells have their errors as age_0, the oldest, to age_15

ABOUT = {
    "recall": "Table 1 of the paper, with standard deviations: images are written one after the other, then all are "
              "read back from corrupted copies. Mean squared error on the scale [-1, 1]; for dropout and mask over the "
              "unknown entries only.",
    "high-noise": "The same with far heavier corruption: noise of 0.8, three quarters of the image dropped or masked.",
    "depth": "Recall by depth: L2, L4 and L8 count the sensory layer.",
    "sigma": "Recall by the strength of a write: prior uncertainty of the weights against observation noise.",
    "search": "What the paper chose from: widths, activations and numbers of particles, by its method and by ours; 64 "
              "images of each length.",
    "forget": "Recall by age: the memory forgets a little before every further batch of writes. Groups of images from "
              "the oldest (1) to the latest (16).",
    "scaling": "Accuracy (share of images recalled with an error below 0.01) by width and depth of the network.",
    "oneshot": "One image read from ten corrupted copies: before it is written, right after one write, and after more "
               "images have been written over it.",
    "recalled": "The first image written, read from ten corrupted copies after all the others.",
    "metric": "What is read from little of an image, by a network that keeps all images and compares them, and by the "
              "memory; the errors are of four images each.",
    "samples": "Ancestral samples from a memory: their mean square, and how far they are from the nearest stored image.",
    "generalization": "Images that were never written, read clean and with white noise of 0.2, by the number of images "
                      "written before.",
    "equal-memory": "Not in the paper: the same number of bytes spent on a memory, or on the latest images kept as "
                    "they are (float32 or one byte per entry) and searched for the nearest.",
    "shards": "Not in the paper: the rows shared out among several networks, a query answered by the one that explains "
              "it best: by the width of the networks at one, two and four rows a unit; a whole collection in hundreds "
              "of them; and a stream through a window of them.",
}
MARKS = ("– is not computed yet, an empty place not planned. ▼ is below the paper's figure, ▲ above it, each by more "
         "than the two standard deviations together and what the paper's four digits hide; without a mark it is the "
         "same. In place of our deviation stands the standard error over the queries where there is one seed, and "
         "where it is larger and not every image was read. ° was computed by other code than that of plan.csv, and "
         "fewer than five cells of its kind were computed again since and came out the same (checked.csv).")
SLIP = ("The paper's MHN row repeats the deviations of its identity row (0.0086 0.0023 0.0105 0.0052) as errors: a slip "
        "of the paper's. It is shown and not compared.")
# The paper's section on experiment details: hours of writing and of reading "on all tasks", 1024 images.
PAPER_HOURS = (("BayesPCN, width 1024, 4 particles", 3, 3), ("GPCN, width 1024", 20, 25 / 60))
# What the cells of figures with pictures hold; the tables show it line by line.
MEASURES = {
    "oneshot": [f"{when}_{task}" for when in ("before", "after", "later")
                for task in ("white0", "white0.2", "white0.8", "drop0.25", "drop0.75", "mask0.25", "mask0.75")],
    "recalled": [f"later_{task}{amount}" for task, amounts in
                 (("white", "0 0.2 0.4 0.8"), ("drop", "0.25 0.5 0.75"), ("mask", "0.25 0.5 0.75"))
                 for amount in amounts.split()],
    "metric": ["later_white0.8", "later_drop0.75", "later_mask0.75"],
    "samples": ["mean_square", "nearest_mse"],
    "generalization": ["clean_mse", "noisy_mse", "noisy_identity"],
}

# ---- reading


def read_csv(path, *columns):
    """The rows of a table that has these columns; a last line without an end is none: a killed process left it."""
    text = path.read_text(encoding="utf-8")
    rows = csv.DictReader(text[:text.rfind("\n") + 1].splitlines())
    lacking = [c for c in columns if c not in (rows.fieldnames or [])]
    if lacking:
        sys.exit(f"report.py: {path} has no column {lacking[0]}: it is not of this version")
    return rows


def read_paper():
    """(table, dataset, task, row, length) to the paper's error and its deviation, NaN where it gives none."""
    rows = read_csv(Path(__file__).with_name("paper_figures.csv"))
    return {(r["table"], r["dataset"], r["task"], r["row"], int(r["length"])):
            (float(r["mse"]), float(r["deviation"] or NAN)) for r in rows}


def number(cell, name):
    return float(cell.get(name) or NAN)


class Row:
    """A row of a table: what was measured, and its places by length."""

    def __init__(self, line):
        self.label, self.role, self.method = line["row"], line["role"], line["method"]
        self.paper = (line["paper_table"], line["paper_row"])  # "" and "": the paper has no such row
        self.spec = SimpleNamespace(**{k: float(line[k]) for k in (
            "layers", "width", "particles", "sigma_w", "sigma_x", "forget_every", "beta", "discount", "shards",
            "shard_rows", "mhn_beta", "rate", "iterations", "momentum", "budget")},
            **{k: line[k] for k in ("activation", "minimizer", "objective", "metric")})
        self.places = {}


class Results:
    """Everything that the tables show: self.tables, in the order of the plan."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.paper = read_paper()
        cells = {c["cell"]: c for c in read_csv(self.folder / "cells.csv", "cell", "mse", "code")}  # of equal keys the last counts
        self.tables, self.tier = [], "quick"
        for line in read_csv(self.folder / "plan.csv", "tier", "cell", "code", "vouched"):
            name = (line["experiment"], line["title"], line["kind"])
            if not self.tables or self.tables[-1].name != name:
                self.tables.append(SimpleNamespace(
                    name=name, **{k: line[k] for k in ("experiment", "dataset", "title", "kind", "task", "measure")},
                    queries=int(line["table_queries"]), latest=int(line["latest"]), lengths=[], rows=[]))
            t, length = self.tables[-1], int(line["length"])
            if not t.rows or t.rows[-1].label != line["row"]:
                t.rows.append(Row(line))
            if length not in t.lengths:
                t.lengths.append(length)
            keys = [line["cell"].format(seed=s) for s in range(int(line["seeds"]))]
            found = [cells[k] for k in keys if k in cells]
            for c in found:
                c["state"] = "fresh" if c["code"] == line["code"] else "vouched" if line["vouched"] == "1" else "stale"
            t.rows[-1].places[length] = SimpleNamespace(planned=len(keys), cells=found)
            self.tier = line["tier"]
        self.experiments = list(dict.fromkeys(t.experiment for t in self.tables))

    def of(self, experiment, dataset=None):
        return [t for t in self.tables if t.experiment == experiment and dataset in (None, t.dataset)]

    def cells(self, tables, label=None):
        return [c for t in tables for r in t.rows if label in (None, r.label) for p in r.places.values()
                for c in p.cells]

    def papers(self, table, row, length):
        return self.paper.get((row.paper[0], table.dataset, table.task.rstrip(".0123456789"), row.paper[1], length),
                              (NAN, NAN))

# ---- a figure: cells of all seeds, beside the paper's


def is_slip(table, row):
    return row.paper == ("high-noise", "MHN") and (table.dataset, table.task) == ("cifar10", "white0.8")


def relation_of(ours, spread, paper, paper_deviation):
    """"below", "same" or "above", seen from the paper's figure, or None. The same: no further apart than our spread,
    the paper's deviation and half a unit of the last of its four digits, for the figure and for its deviation."""
    if math.isnan(ours) or math.isnan(paper):
        return None
    apart = 0.5e-4 + 1e-12 + np.nansum([spread, paper_deviation + 0.5e-4])
    return "same" if abs(ours - paper) <= apart else "below" if ours < paper else "above"


def figure_of(results, table, row, length, measure="mse"):
    place = row.places[length]
    values = [number(c, measure) for c in place.cells]
    f = SimpleNamespace(planned=place.planned, seeds=len(values), mean=NAN, deviation=NAN, spread=NAN, relation=None,
                        stale=any(c["state"] == "stale" for c in place.cells), paper=NAN, paper_deviation=NAN)
    if values:
        f.mean = float(np.mean(values))
        if len(values) > 1:
            f.deviation = f.spread = float(np.std(values, ddof=1))
        queries = [number(c, "queries") for c in place.cells]
        if len(values) == 1 or any(q < length for q in queries):
            errors = [number(c, "mse_std") / math.sqrt(q) if measure == "mse" else NAN
                      for c, q in zip(place.cells, queries)]  # of the means over the queries
            f.spread = float(np.fmax(f.deviation, np.mean(errors)))
    if measure == "mse":
        f.paper, f.paper_deviation = results.papers(table, row, length)
        if not is_slip(table, row):
            f.relation = relation_of(f.mean, f.spread, f.paper, f.paper_deviation)
    return f


def with_deviation(mean, deviation):
    return f"{mean:.4f}" if math.isnan(deviation) else f"{mean:.4f} ± {deviation:.4f}"


def figure_text(f):
    if f.seeds == 0:
        return "–" if f.planned else ""
    mark = {"above": " ▲", "below": " ▼"}.get(f.relation, "")
    return with_deviation(f.mean, f.deviation) + ("°" if f.stale else "") + mark


def paper_text(f):
    return "–" if math.isnan(f.paper) else with_deviation(f.paper, f.paper_deviation)

# ---- how much agrees with the paper


METHODS = ("BayesPCN as the paper does it", "GPCN offline, our minimiser", "GPCN online", "MHN with the paper's dot")


def agrees(ours, paper, paper_deviation):
    """Within 10 %, or two of the paper's deviations, of a number that has the four digits printed there."""
    nearest = min(max(ours, max(0, paper - 0.5e-4)), paper + 0.5e-4)
    apart = abs(ours - nearest)
    return apart <= 0.1 * nearest + 1e-12 or apart <= 2 * paper_deviation + 1e-12  # false of NaN


def method_of(table, row):
    """Which of METHODS a row reproduces, as the paper does it; None: none. Our minimiser and the true dot product are
    ours, and the search is no figure of the paper."""
    if not row.paper[1] or table.experiment == "search":
        return None
    if row.role == "paper":
        return METHODS[0]
    if row.method == "gpcn-offline":
        return METHODS[1]
    if row.method == "gpcn-online" and row.spec.minimizer == "Adam":
        return METHODS[2]
    return METHODS[3] if row.method == "mhn" and row.spec.metric == "paper dot" else None


def compared(results, method, tables):
    """The paper's figures that rows of a method stand beside. Where several rows do, the one with the least error
    counts, as the paper takes the best of its models."""
    for t in tables:
        groups = {}
        for r in t.rows:
            if method_of(t, r) == method and not is_slip(t, r):
                groups.setdefault(r.paper, []).append(r)
        for rows in groups.values():
            for length in t.lengths:
                figures = [(figure_of(results, t, r, length), r) for r in rows]
                if math.isnan(figures[0][0].paper):
                    continue
                f, r = min(figures, key=lambda pair: (pair[0].seeds == 0, pair[0].mean))
                f.agrees = f.seeds > 0 and agrees(f.mean, f.paper, f.paper_deviation)
                # where the paper gives no deviation, ours over three seeds estimates the same
                f.by_seeds = (f.seeds >= 3 and not f.agrees and math.isnan(f.paper_deviation)
                              and abs(f.mean - f.paper) <= 2 * f.deviation)
                yield SimpleNamespace(table=t, row=r, length=length, figure=f)


def percent(part, whole):
    return f"{100 * part / whole:.0f} %"


def agreement_text(compared_figures, extra=0):
    there = [p for p in compared_figures if p.figure.seeds]
    missing = len(compared_figures) - len(there)
    text = f"{sum(p.figure.agrees for p in there) + extra} of {len(there)}" if there else ""
    return text + (f"{', ' if there else ''}{missing} missing" if missing else "")


def counts(results):
    """The numbers of the page: by method, and of BayesPCN those with and without a deviation of the paper's."""
    n = {m: list(compared(results, m, results.tables)) for m in METHODS}
    own = [p.figure for p in n[METHODS[0]] if p.figure.seeds]
    told = [f for f in own if not math.isnan(f.paper_deviation)]
    untold = [f for f in own if math.isnan(f.paper_deviation)]
    return n, own, told, untold


def counted_lines(results):
    """What README.md says, in a few lines."""
    n, own, told, untold = counts(results)
    by_rule = sum(f.agrees or f.by_seeds for f in own)
    lines = ["| figures of the paper | agree |", "|---|---|"]
    if told:
        lines.append(f"| BayesPCN, with a deviation in the paper | {sum(f.agrees for f in told)} of {len(told)} |")
    if untold:
        lines.append(f"| BayesPCN, without one: within 10 % or two deviations of our three seeds | "
                     f"{sum(f.agrees or f.by_seeds for f in untold)} of {len(untold)} |")
    if own:
        lines.append(f"| **BayesPCN, both together** | **{by_rule} of {len(own)}, {percent(by_rule, len(own))}** |")
    lines += [f"| {m} | {agreement_text(n[m])} |" for m in METHODS[1:]]
    return lines


def counts_page(results, page):
    page.text("A figure is a place of a table, the mean over its seeds; a dash is one that is planned and not there. "
              "Rows that do what the paper did are compared with it. A figure agrees when it is within 10 % or two of "
              "the paper's deviations of a number that has the four digits printed there. Where several rows stand for "
              "one figure of the paper, which is the best of its models, the one with the least error of those that "
              "were computed counts. Some cells stand in several tables, and count in each.")
    rows = []
    for e in results.experiments:
        for d in DATASETS:
            tables = results.of(e, d)
            places = [p for t in tables for r in t.rows for p in r.places.values() if p.planned]
            if not places:
                continue
            there = sum(1 for p in places if p.cells)
            rows.append([e, d, f"{there} of {len(places)}", str(len(places) - there),
                         f"{sum(len(p.cells) for p in places)} of {sum(p.planned for p in places)}"]
                        + [agreement_text(list(compared(results, m, tables))) for m in METHODS])
    n, own, told, untold = counts(results)
    for name, spread in (("all", False), ("all that agree, or are within the spread of both", True)):
        last = [name, "", "", "", ""]
        for m in METHODS:
            there = [p.figure for p in n[m] if p.figure.seeds]
            extra = sum(not f.agrees and f.relation == "same" for f in there) if spread else 0
            share = f"**{percent(sum(f.agrees for f in there) + extra, len(there))}**: " if there else ""
            last.append(share + agreement_text(n[m], extra))
        rows.append(last)
    page.table(["experiment", "dataset", "figures", "dashes", "cells of all seeds", *METHODS], rows)
    above_zero = [f for f in own if f.paper > 1.5e-4]  # below it the paper has 0.0000 or 0.0001
    page.text(f"Of BayesPCN's figures that are above 0.0001 in the paper {sum(f.agrees for f in above_zero)} of "
              f"{len(above_zero)} agree. Of all {sum(f.agrees for f in own)} that agree "
              f"{sum(f.agrees and f.seeds == 1 for f in own)} are of one seed.")
    every = [p.figure for m in METHODS for p in n[m] if p.figure.seeds]
    apart = [f.relation for f in every if not f.agrees]
    page.text(f"{len(apart)} do not agree: {apart.count('same')} are no further from the paper's figure than the spread "
              f"of both, {apart.count('below')} are below it and {apart.count('above')} above. The marks of the tables "
              f"go by that spread: {sum(f.agrees and f.relation != 'same' for f in every)} figures that agree have one.")
    if told:
        agree = sum(f.agrees for f in told)
        page.text(f"The paper gives {len(told)} of BayesPCN's figures with a deviation: {agree} of them agree, "
                  f"{percent(agree, len(told))}.")
    if untold:
        agree, by_rule = sum(f.agrees for f in untold), sum(f.agrees or f.by_seeds for f in untold)
        together = by_rule + sum(f.agrees for f in told)
        page.text(f"It gives {len(untold)} without: {agree} are within 10 %, and {by_rule}, "
                  f"{percent(by_rule, len(untold))}, are within that or two deviations of our own three seeds. By that "
                  f"rule {together} of all {len(own)} agree, {percent(together, len(own))}.")


def exceptions_page(results, page):
    page.text("Our spread is the deviation over the seeds, or the standard error over the queries where that is larger "
              "or there is one seed. What was measured there is not always why.")
    rows = []
    for m in METHODS:
        for p in compared(results, m, results.tables):
            f = p.figure
            if f.agrees or not f.seeds:
                continue
            reason = "Within two deviations of our seeds. " if f.by_seeds else ""
            rows.append([f"{p.table.experiment}, {p.table.title}, {p.row.label}", str(p.length),
                         figure_text(f).rstrip(" ▲▼"), paper_text(f),
                         f"{100 * (f.mean - f.paper) / f.paper:+.0f} %" if f.paper > 0 else "",
                         f"{abs(f.mean - f.paper) / f.spread:.1f}" if f.spread > 0 else "",
                         reason + reason_text(results, p.table, p.row, p.length)])
    page.table(["figure", "images", "ours", "the paper's", "apart", "apart, in our spreads", "measured there"], rows)


def reason_text(results, table, row, length):
    """What was measured where a figure is not the paper's."""
    def mean(measure):
        return figure_of(results, table, row, length, measure).mean
    f, said = figure_of(results, table, row, length), []
    if f.seeds > 1:
        said.append("By seed: " + ", ".join(f"{number(c, 'mse'):.4f}" for c in row.places[length].cells) + ".")
    if f.mean > mean("identity_mse"):
        said.append(f"Worse than the queries themselves, which were off by {mean('identity_mse'):.4f}.")
    elif mean("above_stored") > 0:
        said.append(f"{100 * mean('above_stored'):.1f} % of its reads end above the energy of the code that was written.")
    if mean("queries") > 1 and f.mean > 0 and mean("mse_max") > 0:
        worst = 100 * mean("mse_max") / (mean("queries") * f.mean)
        said.append(f"The worst of its {mean('queries'):.0f} reads has {worst:.0f} % of the error.")
    others = [(figure_of(results, table, r, length), r) for r in table.rows if r is not row and r.paper == row.paper]
    better = [(o.mean, i, r) for i, (o, r) in enumerate(others) if o.relation in ("same", "below")]
    if better:
        said.append(f"The row {min(better)[2].label} has {min(better)[0]:.4f}.")
    return " ".join(said)

# ---- what stands beside the tables


def spread_text(values, one, many):
    values = [int(v) for v in values if v > 0]
    if not values:
        return ""
    text = f", {min(values)}" + (f" to {max(values)}" if max(values) > min(values) else "")
    return f"{text} {one if max(values) == 1 else many}"


def caption(row):
    """What the method of a row is."""
    s, parts = row.spec, []
    if row.method in ("bayespcn", "gpcn-offline", "gpcn-online"):
        parts.append(f"{s.width:.0f}x{s.layers:.0f} {s.activation}")
        if row.method == "bayespcn":
            parts.append(f"N {s.particles:.0f}")
        if s.shards > 1:
            parts.append(f"{s.shards:.0f} shards of {s.shard_rows:.0f} rows")
        if (s.sigma_w, s.sigma_x) != (1, 0.01):
            parts.append(f"sigma_w {s.sigma_w:g}, sigma_x {s.sigma_x:g}")
        if s.beta > 0:
            parts.append(f"{'discount' if s.discount else 'forget'} {s.beta:.3g} every {s.forget_every:.0f}")
        if row.method == "gpcn-offline":
            parts.append(f"{s.iterations:.0f} weight steps{' with momentum' if s.momentum > 0 else ''}")
        parts.append(s.minimizer)
    elif row.method == "mhn":
        metric = {"dot": "dot product", "paper dot": "the paper's dot product"}.get(s.metric, "Euclidean metric")
        parts.append(f"{metric}, beta {s.mhn_beta:g}, rate {s.rate:g}")
    elif row.method == "nearest":
        parts.append("the latest that fit" if s.budget > 0 else "every image kept")
    else:
        parts.append("the query itself")
    if row.method == "bayespcn":
        parts.append("the paper's objective" if s.objective == "paper" else "our objective")
    return ", ".join(parts)


def captions(results, tables):
    """A line for every label: what the method is, and its queries and seeds."""
    rows = {}
    for t in tables:
        for r in t.rows:
            rows.setdefault(r.label, r)
    for label, row in rows.items():
        cells = results.cells(tables, label)
        seeds = [len(p.cells) for t in tables for r in t.rows if r.label == label for p in r.places.values()]
        if cells:
            yield (f"{label}: {caption(row)}{spread_text([number(c, 'queries') for c in cells], 'query', 'queries')}"
                   f"{spread_text(seeds, 'seed', 'seeds')}")


def provenance(results, tables, page):
    """By which code, when and where the cells were computed."""
    cells, makers = results.cells(tables), {}
    n = {state: sum(c["state"] == state for c in cells) for state in ("fresh", "vouched", "stale")}
    text = f"{n['fresh']} of {len(cells)} cells are by the code of plan.csv."
    if n["vouched"]:
        text += (f" {n['vouched']} are by other code and vouched for: at least five of their kind came out the same "
                 "by this one (checked.csv).")
    if n["stale"]:
        text += f" {n['stale']} are stale (°)."
    page.text(text)
    for c in cells:
        maker = tuple(c[k] or "" for k in ("commit", "kernels", "cpu", "date"))
        makers[maker] = makers.get(maker, 0) + 1
    page.list([f"{count} cells of commit {m[0]}: {m[1]} kernels, {m[2]}, {m[3]}" if m[0] else
               f"{count} cells that do not say how they were computed" for m, count in makers.items()])


def seconds_of(results, experiment):
    """Spent on the cells of an experiment, each cell and each write counted once: tasks share their writes, and the
    paper's objective with our minimiser reads the networks that ours wrote."""
    seconds, seen, counted = 0, set(), set()
    for t in results.of(experiment):
        first = t.dataset not in seen
        seen.add(t.dataset)
        for r in t.rows:
            cells = [c for p in r.places.values() for c in p.cells if c["cell"] not in counted]
            counted |= {c["cell"] for c in cells}
            seconds += np.nansum([number(c, "read_seconds") for c in cells])
            if first and r.role != "objective":
                by_seed = {}
                for c in cells:
                    by_seed.setdefault(re.search(r"-s(\d+)-T", c["cell"])[1], []).append(c)
                for group in by_seed.values():
                    seconds += np.nanmax([0, *(number(c, "write_seconds") for c in group)])
                    seconds += np.nansum([number(c, "learn_seconds") for c in group])  # for each length anew
    return seconds


def times_of(results, experiment, dataset, label):
    """A row at the longest length of which all tasks are there: seconds of writing and reading; None: there is none."""
    found = None
    tables = [(t, r) for t in results.of(experiment, dataset) for r in t.rows if r.label == label]
    for length in sorted({n for t, _ in tables for n in t.lengths}):
        s = SimpleNamespace(images=length, tasks=0, write=NAN, read=0, queries=0, cpus=set())
        for t, r in tables:
            if length not in r.places:
                continue
            def mean(measure):
                return figure_of(results, t, r, length, measure).mean  # noqa: B023
            if not r.places[length].cells:
                s.tasks = 0
                break
            s.write = mean("write_seconds") + (mean("learn_seconds") if r.method == "gpcn-offline" else 0)
            s.read += mean("read_seconds")
            s.queries += mean("queries")
            s.tasks += 1
            s.cpus |= {c["cpu"] or "not told" for c in r.places[length].cells}
        if s.tasks:
            found = s
    return found


def times_page(results, page, experiments=("recall", "search")):
    page.text("Whole schedules: all images written one after the other, then the queries of all tasks read, from the "
              "cells of the longest length that a row has (the mean of its seeds). What a network learns from all "
              "images together counts as writing; the reads by which it chooses the best version do not count. **All "
              "queries** is the seconds a query times the images and the tasks, where fewer were read; nothing else is "
              "scaled. Seconds are of the clock, or of the processor where a cell had one thread. Of the paper's there "
              "is no more than its hours, \"on all tasks\".")
    def put(x):
        return "not timed" if math.isnan(x) else "< 0.001" if x < 0.001 else f"{x:.3g}"
    rows = []
    if results.tier == "paper":
        rows = [[f"the paper's {model}", "not told", "1024", f"{w:.3g}", f"{3600 * w / 1024:.3g}", "not told", f"{r:.3g}",
                 "", "", "NVIDIA Tesla V100"] for model, w, r in PAPER_HOURS]
    seen = set()
    for t in results.tables:
        for r in t.rows:
            told = (r.spec.width == t.rows[-1].spec.width and r.spec.particles > 1 if t.experiment == "search" else
                    r.method != "identity" and r.paper[0] != "depth")
            name = (t.experiment, t.dataset, r.label)
            if t.experiment not in experiments or name in seen or not told:
                continue
            seen.add(name)
            s = times_of(results, *name)
            if s:
                every = s.read / s.queries
                rows.append([f"{r.label}: {caption(r)}", t.dataset, str(s.images), put(s.write / 3600),
                             put(s.write / s.images), f"{s.queries:.0f}", put(s.read / 3600), put(every),
                             put(every * s.tasks * s.images / 3600), s.cpus.pop() if len(s.cpus) == 1 else "several"])
    page.table(["row", "dataset", "images", "writing, h", "s an image", "queries", "reading, h", "s a query",
                "all queries, h", "measured on"], rows)

# ---- the pages of single experiments


SEARCH_LEAST = 0.5e-4  # errors below it are the same: the paper's four digits show 0.0000


def search_best(results, dataset, role, task=None, length=None):
    """The row of the search with the least geometric mean of its errors over the tasks and lengths asked for, that
    mean, and the cells there and planned. All tables of the search have the same rows."""
    tables = [t for t in results.of("search", dataset) if task in (None, t.task)]
    best, there, planned = (math.inf, None), 0, 0
    for i, row in enumerate(tables[0].rows if tables else []):
        if row.role != role:
            continue
        logs = []
        for t in tables:
            for n in t.lengths:
                if length in (None, n):
                    f = figure_of(results, t, t.rows[i], n)
                    there, planned = there + f.seeds, planned + f.planned
                    logs.append(math.inf if math.isnan(f.mean) else math.log(max(f.mean, SEARCH_LEAST)))
        if math.exp(np.mean(logs)) < best[0]:
            best = (math.exp(np.mean(logs)), row)
    return SimpleNamespace(error=best[0], row=best[1], there=there, planned=planned)


def search_page(results, page):
    page.heading(2, "The best of the search")
    page.text("The row with the least mean logarithm of its errors over the places asked for; errors below 0.00005, "
              "which the paper's tables show as 0.0000, count as that. The mean is the geometric one. The best of all, "
              "at the lower right, is computed in full in recall.")
    for dataset in dict.fromkeys(t.dataset for t in results.of("search")):
        for role, name in (("paper", "as the paper does it"), ("ours", "ours")):
            best = search_best(results, dataset, role)
            def model(row):
                return f"{row.spec.width:.0f}x{row.spec.layers:.0f} {row.spec.activation}, N = {row.spec.particles:.0f}"
            if best.there < best.planned:
                page.text(f"{dataset}, {name}: not all computed: {best.there} of {best.planned} cells.")
                continue
            page.text(f"{dataset}, {name}: **{model(best.row)}**, with a mean error of {best.error:.4f}.")
            tables = results.of("search", dataset)
            rows = []
            for task in [t.task for t in tables] + [None]:
                line = [task or "all of them"]
                for length in tables[0].lengths + [None]:
                    b = search_best(results, dataset, role, task, length)
                    line.append(f"{model(b.row)}: {'' if task and length else 'mean '}{b.error:.4f}")
                rows.append(line)
            page.table(["images written", *map(str, tables[0].lengths), "both"], rows)


def forget_page(results, page):
    page.heading(2, "What the paper says of it")
    page.text("The paper: without forgetting all ages are recalled alike; with it the newer are recalled better; the "
              "stronger it is, the lower the error of the latest group, for all tasks and all strengths; and some of it "
              "improves the whole. Measured, by means over the seeds:")
    lines = []
    for t in results.of("forget"):
        for role, name in (("paper", "as the paper does it"), ("ours", "ours")):
            rows = [r for r in t.rows if r.role == role]  # by rising strength, the first without forgetting
            ages = [[figure_of(results, t, r, t.lengths[0], f"age_{a}") for a in range(AGES)] for r in rows]
            means = [[f.mean for f in a] for a in ages]
            there = sum(not math.isnan(m[-1]) for m in means)
            if there < len(rows):
                lines.append([t.title, name, f"not all computed: {there} of {len(rows)} rows", "", "", ""])
                continue
            newer = sum(m[-1] < m[0] for m in means[1:])
            rises = [i for i in range(1, len(rows)) if means[i - 1][-1] <= means[i][-1]]
            falls = "at every step"
            if rises:
                latest = ages[rises[0]][-1]
                deviation = "" if math.isnan(latest.deviation) else f" ± {latest.deviation:.5f}"
                falls = (f"not at {len(rises)} of {len(rows) - 1} steps, first to beta {rows[rises[0]].spec.beta:g} "
                         f"({latest.mean:.5f}{deviation})")
            best = min(rows, key=lambda r: figure_of(results, t, r, t.lengths[0]).mean)  # noqa: B023
            lines.append([t.title, name, f"{max(means[0]) / min(means[0]):.2f}", f"{newer} of {len(rows) - 1} strengths",
                          falls, f"beta {best.spec.beta:g}"])
    page.table(["task", "method", "beta 0: worst group over best", "latest better than oldest",
                "the latest group's error falls with beta", "least error of all"], lines)


def shards_page(results, page):
    def value(table, row, measure, form, scale=1, per=None):
        """A number of the row of that label, or of the row itself; – where there is none."""
        row = next((r for r in table.rows if r.label == row.label), None)
        if row is None:
            return "–"
        x = scale * figure_of(results, table, row, table.lengths[0], measure).mean
        if per:
            x /= figure_of(results, table, row, table.lengths[0], per).mean
        return "–" if math.isnan(x) else f"{x:{form}}"

    def first(tables, row, *what):
        return next((v for v in (value(t, row, *what) for t in tables) if v != "–"), "–")

    for dataset in DATASETS:
        tables = [t for t in results.of("shards", dataset) if t.kind == "recall" and results.cells([t])]
        if not tables:
            continue
        t0 = tables[0]
        tasks, memory = [t.task for t in tables], [r for r in t0.rows if r.method == "bayespcn"]
        if dataset != "fashion-mnist":
            page.heading(2, f"{dataset}, {t0.lengths[0]} images")
            page.text("Mean squared error on [-1, 1], over what was missing, of at most "
                      f"{t0.queries} images spread evenly over those written.")
            page.table(["error", "MB", "write, ms an image", *tasks],
                       [[r.label, first(tables, r, "bytes", ".1f", 1e-6),
                         first(tables, r, "write_seconds", ".2f", 1e3, "length"),
                         *(value(t, r, "mse", ".5f") for t in tables)] for r in t0.rows])
            page.text("The share of queries that were answered by the shard that holds the image.")
            page.table(["right shard", *tasks], [[r.label, *(value(t, r, "right", ".3f") for t in tables)]
                                                 for r in memory if r.spec.shards > 1])
            page.text("Reads of all queries in one call, with everything prepared that is prepared once for a memory "
                      "and a mask. Times are of the clock, each cell's at another time and beside whatever else ran "
                      "then, or of the processor where a cell had one thread.")
            page.table(["read, ms a query (evaluations)", *tasks], [[r.label, *(
                "–" if (ms := value(t, r, "again_seconds", ".1f", 1e3, "queries")) == "–" else
                f"{ms} ({value(t, r, 'evaluations', '.0f')})" for t in tables)] for r in memory])
        else:
            page.heading(2, f"{dataset}, {t0.lengths[0]} images, each written once")
            page.text(f"{t0.rows[0].label}: {first(tables, t0.rows[0], 'bytes', '.0f', 1e-6)} MB, written in "
                      f"{first(tables, t0.rows[0], 'write_seconds', '.0f')} s; the images themselves are "
                      f"{first(tables, t0.rows[1], 'bytes', '.0f', 1e-6)} MB of floats. At most {t0.queries} queries, "
                      "spread evenly; *exact* is an error below 0.01. The first batch prepares what the second finds.")
            page.table(["task", "", "exact", "right shard", "error", "MB prepared", "first batch, ms a query", "second"],
                       [[t.task, r.label, value(t, r, "accuracy", ".4f"), value(t, r, "right", ".4f"),
                         value(t, r, "mse", ".5f"), value(t, r, "prepared_bytes", ".0f", 1e-6),
                         value(t, r, "read_seconds", ".2f", 1e3, "queries"),
                         value(t, r, "again_seconds", ".2f", 1e3, "queries")] for t in tables for r in t.rows])
    for t in results.of("shards"):
        if t.kind != "stream" or not results.cells([t]):
            continue
        page.heading(2, t.title)
        page.text(f"{t.lengths[0]} images, one after the other; then the latest {t.latest} are read back, in {AGES} "
                  "groups by age. Twice as many as the window holds: its edge is in the middle.")
        header = ["age, images"]
        for r in t.rows:
            header += [f"{r.label} ({value(t, r, 'bytes', '.1f', 1e-6)} MB): exact", "error"]
        page.table(header, [[f"{t.latest * (15 - a) // 16} – {t.latest * (16 - a) // 16}",
                             *(x for r in t.rows for x in (value(t, r, f"exact_{a}", ".3f"),
                                                           value(t, r, f"age_{a}", ".5f")))]
                            for a in reversed(range(AGES))])


def table_page(results, page, table):
    """Our figures beside the paper's."""
    measures = MEASURES.get(table.kind)
    page.heading(2, table.title + (", accuracy" if table.measure == "accuracy" else ""))
    rows = []
    for r in table.rows:
        for m in measures or [table.measure]:
            line = [f"{r.label}, {m}" if measures else r.label]
            for length in table.lengths:
                f = figure_of(results, table, r, length, m)
                line.append(figure_text(f) + (f" (paper {paper_text(f)})" if not math.isnan(f.paper) else ""))
            rows.append(line)
    page.table(["images written", *map(str, table.lengths)], rows)
    if any(is_slip(table, r) for r in table.rows):
        page.text(SLIP)


def experiment_page(results, experiment, page):
    tables = [t for t in results.of(experiment) if results.cells([t])]
    if experiment == "shards":
        shards_page(results, page)
    else:
        for t in tables:
            table_page(results, page, t)
    if experiment == "search":
        search_page(results, page)
    if experiment == "forget":
        forget_page(results, page)
    if experiment in ("recall", "search"):
        page.heading(2, "Time")
        times_page(results, page, (experiment,))
    page.heading(2, "How the rows were computed")
    page.list(list(captions(results, tables)))
    provenance(results, tables, page)


def write_csv(results, experiment):
    """Every cell of every seed, with the columns that any of them has."""
    skip = ("cell", "length", "state", "commit", "kernels", "date", "cpu", "code")
    tables = results.of(experiment)
    used = [k for k in next(iter(results.cells(tables))) if k not in skip
            and any(c[k] for c in results.cells(tables))]
    lines = [",".join(["dataset", "task", "row", "length", "seed", *used, "paper_mse", "paper_std"])]
    for t in tables:
        for r in t.rows:
            for length, place in r.places.items():
                papers = results.papers(t, r, length)
                for c in place.cells:
                    numbers = [number(c, k) for k in used] + list(papers)
                    lines.append(",".join([t.dataset, t.task, f'"{r.label}"', str(length),
                                           re.search(r"-s(\d+)-T", c["cell"])[1],
                                           *("" if math.isnan(x) else f"{x:.9g}" for x in numbers)]))
    write(results.folder / f"{experiment}.csv", "\n".join(lines) + "\n")

# ---- charts


LEAST = 1e-5  # smaller errors are drawn there: the paper's four digits tell less than ten times this from 0
ROLE_COLOURS = {"ours": "#1d5fd1", "objective": "#0f8a8a", "paper": "#c2570c"}
COLOURS = ("#15803d", "#7c3aed", "#c026a3", "#b45309", "#0e7490", "#6b7280")
MARKERS = "os^Dv<>"
METHOD_COLOURS = dict(zip(("mhn euclidean", "gpcn-online", "gpcn-offline", "mhn paper dot", "mhn dot", "nearest"), COLOURS))


def group_of(table, row):
    """The name of the panel row that a row is drawn in; "": in none."""
    gpcn = row.method.startswith("gpcn")
    if row.method == "identity" or (table.experiment == "recall" and row.paper[0] == "depth"):
        return ""
    if table.experiment == "scaling":
        return f"L{row.spec.layers + 1:.0f}"
    whose = {"paper": "as the paper does it", "ours": "ours"}.get(row.role, "the paper's objective")
    if table.experiment == "search":
        return f"{whose}, {row.spec.activation}"
    if table.experiment == "forget":
        return whose
    if row.role == "opponent":
        return "GPCN" if gpcn else "MHN and nearest"
    if table.experiment == "sigma":
        return f"sigma_w {row.spec.sigma_w:g}, sigma_x {row.spec.sigma_x:g}"
    return row.paper[1] or "the memory"


def colour_of(table, row):
    """A colour by whose the row is; None: by its number, where all are ours or two of everything."""
    if row.role == "opponent":
        return METHOD_COLOURS[f"mhn {row.spec.metric}" if row.method == "mhn" else row.method]
    by_number = table.experiment == "search" or (table.experiment == "scaling" and row.role == "ours")
    return None if by_number else ROLE_COLOURS[row.role]


def by_length(results, table):
    """A line for every row by length, with the paper's, once for all rows beside the same figure."""
    papers = set()
    for r in table.rows:
        group = group_of(table, r)
        figures = [figure_of(results, table, r, n, table.measure) for n in table.lengths]
        if not group or not any(f.seeds for f in figures):
            continue
        x = [str(n) for n in table.lengths]
        yield SimpleNamespace(group=group, panel=table.task, name=r.label, colour=colour_of(table, r), dashed=False, x=x,
                              y=[f.mean for f in figures], error=[f.spread for f in figures])
        if (group, r.paper) not in papers and any(not math.isnan(f.paper) for f in figures):
            papers.add((group, r.paper))
            yield SimpleNamespace(group=group, panel=table.task, name=f"the paper's {r.paper[1]}", colour="black",
                                  dashed=True, x=x, y=[f.paper for f in figures],
                                  error=[f.paper_deviation for f in figures])


def by_age(results, table, measure):
    for r in table.rows:
        figures = [figure_of(results, table, r, table.lengths[0], f"{measure}_{a}") for a in range(AGES)]
        if any(f.seeds for f in figures):
            yield SimpleNamespace(group=group_of(table, r) if measure == "age" else "a stream", panel=table.task,
                                  name=r.label, colour=None, dashed=False, x=[str(a + 1) for a in range(AGES)],
                                  y=[f.mean for f in figures], error=[f.deviation for f in figures])


def in_series(results, table, group, series):
    """Lines that are of several rows: name to [(tick, row, measure)]."""
    for name, points in series.items():
        figures = [figure_of(results, table, r, n, m) for _, r, n, m in points]
        yield SimpleNamespace(group=group, panel=table.task, name=name, colour=None, dashed=False,
                              x=[p[0] for p in points], y=[f.mean for f in figures], error=[f.deviation for f in figures])


def lines_of(results, table):
    length = table.lengths[0]
    if table.kind == "generalization":
        names = {"read clean": "clean_mse", "read with noise 0.2": "noisy_mse", "the noisy query itself": "noisy_identity"}
        return in_series(results, table, "unseen images", {
            name: [(str(n), table.rows[0], n, m) for n in table.lengths] for name, m in names.items()})
    if table.kind == "stream":
        return by_age(results, table, "exact")
    if table.experiment == "forget":
        return by_age(results, table, "age")
    if table.experiment == "equal-memory":  # rows in threes: the memory, as many bytes of floats, of octets
        megabytes = [f"{figure_of(results, table, r, length, 'bytes').mean / 1e6:.3g}" for r in table.rows[::3]]
        return in_series(results, table, "by MB", {name: [(mb, r, length, "mse") for mb, r in zip(megabytes, table.rows[k::3])]
                                                   for k, name in enumerate(("bayespcn", "nearest, float32", "nearest, uint8"))})
    if table.experiment == "shards":
        memory = sorted((r for r in table.rows if r.method == "bayespcn"), key=lambda r: r.spec.width)
        return in_series(results, table, "by width of a shard", {
            f"{word} a unit": [(f"{r.spec.width:.0f}", r, length, "mse") for r in memory
                               if r.spec.shard_rows == rows * r.spec.width]
            for rows, word in ((1, "one row"), (2, "two rows"), (4, "four rows"))})
    return by_length(results, table) if table.kind == "recall" else []


def styles(lines):
    """A colour and a mark for every name of a group; names of one colour have marks of their own."""
    found, used = {}, {}
    for line in lines:
        if line.name in found:
            continue
        colour = line.colour or COLOURS[len(found) % len(COLOURS)]
        found[line.name] = (colour, MARKERS[used.get(colour, 0) % len(MARKERS)])
        used[colour] = used.get(colour, 0) + 1
    return found


def draw_lines(axes, lines, look, linear):
    """Ticks stand evenly, by rising number."""
    ticks = sorted({x for line in lines for x in line.x}, key=float)
    axes.set_xticks(range(len(ticks)), ticks)
    for line in lines:
        y = np.array(line.y, dtype=float)
        kept = np.isfinite(y)
        x, y = [ticks.index(t) for t, k in zip(line.x, kept) if k], y[kept]
        error = np.nan_to_num(np.array(line.error, dtype=float)[kept])
        if not linear:
            y, error = np.maximum(y, LEAST), np.where(y < LEAST, 0, error)
        colour, mark = look[line.name]
        low = error if linear else np.minimum(error, y - LEAST)
        axes.errorbar(x, y, yerr=[low, error], color=colour, marker=mark, markersize=4, linewidth=1.3, elinewidth=0.8,
                      linestyle="--" if line.dashed else "-", markerfacecolor="none" if line.dashed else colour,
                      label=line.name)


def save(figure, path):
    """SVG, the same to the byte for the same numbers."""
    path.parent.mkdir(exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "bayespcn", "svg.fonttype": "none"}):
        figure.savefig(path.with_name(path.name + ".new"), format="svg", metadata={"Date": None, "Creator": None})
    os.replace(path.with_name(path.name + ".new"), path)
    plt.close(figure)


def draw_experiment(results, experiment, dataset):
    """A row of panels for every group, a panel for every task. The chart's path, or None when there is nothing."""
    tables = [t for t in results.of(experiment, dataset) if not (t.kind == "recall" and t.lengths[0] > 2048)]
    lines = [line for t in tables if results.cells([t]) for line in lines_of(results, t)]
    groups = list(dict.fromkeys(line.group for line in lines))
    groups.sort(key=lambda g: g in ("GPCN", "MHN and nearest"))  # the memory first
    panels = list(dict.fromkeys(line.panel for line in lines))
    if not groups:
        return None
    figure, grid = plt.subplots(len(groups), len(panels), squeeze=False, layout="constrained",
                                figsize=(3.1 * len(panels) + 3.4, 2.5 * len(groups)))
    for g, group in enumerate(groups):
        mine = [line for line in lines if line.group == group]
        look = styles(mine)
        for p, panel in enumerate(panels):
            axes = grid[g][p]
            share = tables[0].measure == "accuracy" or group == "a stream"
            if not share:
                axes.set_yscale("log")
            draw_lines(axes, [line for line in mine if line.panel == panel], look, share)
            axes.set_title(f"{group}: {panel}", fontsize=9)
            axes.tick_params(which="both", labelsize=7)
            axes.grid(alpha=0.3)
            if p == 0:
                axes.set_ylabel("share recalled" if share else "mean squared error", fontsize=8)
        labels = {}
        for axes in grid[g]:
            labels.update({n: h for h, n in zip(*axes.get_legend_handles_labels())})
        grid[g][-1].legend(labels.values(), labels, fontsize=7, loc="center left", bbox_to_anchor=(1.02, 0.5))
    path = results.folder / "charts" / f"{experiment}-{dataset}.svg"
    save(figure, path)
    return path


def draw_agreement(results):
    """All figures of the paper that were reproduced, ours against the paper's."""
    figure, axes = plt.subplots(figsize=(6.2, 5), layout="constrained")
    ends = np.array([LEAST, 5e3])
    axes.fill_between(ends, 0.9 * ends, 1.1 * ends, color="#9ca3af", alpha=0.5, linewidth=0, label="within 10 %")
    for m, colour, mark in zip(METHODS, (ROLE_COLOURS["paper"], *COLOURS), MARKERS):
        found = [p.figure for p in compared(results, m, results.tables) if p.figure.seeds]
        axes.scatter([max(f.paper, LEAST) for f in found], [max(f.mean, LEAST) for f in found], s=14, marker=mark,
                     color=colour, alpha=0.7, linewidths=0, label=m)
    axes.set(xscale="log", yscale="log", xlabel="mean squared error in the paper (0.0000 at the left edge)",
             ylabel="mean squared error here", xlim=(0.8 * LEAST, 200), ylim=(0.8 * LEAST, 5e3))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    save(figure, results.folder / "agreement.svg")

# ---- pages


def write(path, text):
    """The whole file or none of it."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)


def inline(text):
    """**bold**, *emphasis*, `code` and [links](there) of a line of Markdown, as HTML."""
    text = html.escape(text, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
    text = re.sub(r"(?<!\w)\*(\S[^*]*)\*(?!\w)", r"<i>\1</i>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[(.+?)\]\((.+?)\)", r'<a href="\2">\1</a>', text)


class Page:
    """A page as Markdown and as HTML at once."""

    def __init__(self):
        self.md, self.html = [], []

    def heading(self, level, text):
        self.md.append(f"{'#' * level} {text}")
        self.html.append(f"<h{level + 1}>{inline(text)}</h{level + 1}>")

    def text(self, text):
        self.md.append(text)
        self.html.append(f"<p>{inline(text)}</p>")

    def list(self, items):
        self.md.append("\n".join(f"- {i}" for i in items))
        self.html.append("<ul>" + "".join(f"<li>{inline(i)}</li>\n" for i in items) + "</ul>")

    def table(self, header, rows):
        lines = ["| " + " | ".join(cells) + " |" for cells in [header, *rows]]
        self.md.append("\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]]))
        self.html.append("<div class=wide><table>" + "\n".join(
            "<tr>" + "".join(f"<{tag}>{inline(c)}</{tag}>" for c in cells) + "</tr>"
            for cells, tag in [(header, "th"), *((r, "td") for r in rows)]) + "</table></div>")

    def markdown(self):
        return "\n\n".join(self.md) + "\n"


STYLE = """<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>
<title>bayespcn: the paper's experiments</title>
<style>
body{font:16px/1.55 system-ui,sans-serif;max-width:80rem;margin:2rem auto;padding:0 1.2rem;color:#1d2129;background:#fff}
h2{margin-top:3rem;border-top:1px solid #dde1e7;padding-top:1rem}nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}
th,td{border-bottom:1px solid #dde1e7;padding:.25rem .6rem;text-align:left;vertical-align:top}
img{max-width:100%}img.pixels{image-rendering:pixelated;width:100%;max-width:46rem}summary{cursor:pointer;color:#1d5fd1}
</style>
"""


def pictures(results, experiment, every):
    """Of figures that are pictures; but for those of Fashion-MNIST only when asked: they show images of the datasets."""
    for t in results.of(experiment):
        for r in t.rows:
            for length, place in r.places.items():
                if place.cells and (every or t.dataset == "fashion-mnist") and t.kind in MEASURES:
                    path = Path("pictures") / f"{place.cells[0]['cell']}.png"
                    if (results.folder / path).exists():
                        yield (f"<p>{t.dataset}, {html.escape(r.label)}, {length} images written.</p>"
                               f"<img class=pixels src='{path}' alt='{experiment}'>")


def write_report(results, shown, every_picture):
    out = [STYLE, "<h1>The paper's experiments, again</h1>\n<p>"]
    out.append("In the charts, blue is the memory with this library's defaults, orange the memory as the paper does it, "
               "teal the paper's objective with our minimiser, and dashed the paper's own figures; errors below 0.00001 "
               "are drawn there; bars are deviations, or with one seed the standard error over its queries. Figures are "
               f"mean squared errors on the scale [-1, 1], ± the standard deviation (of n - 1) over seeds. {MARKS}</p>")
    if results.tier == "quick":
        out.append("<p><b>This is the quick tier:</b> small networks and short sequences, to see that everything runs. "
                   "The paper's figures do not apply and are left out.</p>")
    out.append("<nav>" + "".join(f"<a href='#{e}'>{e}</a>" for e in shown) + "<a href='#time'>time</a></nav>")
    if results.tier == "paper":
        page, rest = Page(), Page()
        counts_page(results, page)
        exceptions_page(results, rest)
        out += ["<h2 id=counted>What is here, and what agrees with the paper</h2>", "<img src='agreement.svg' alt='ours "
                "against the paper&#39;s'>", *page.html, "<details><summary>Those that do not agree</summary>", *rest.html,
                "</details>"]
    for e, page in shown.items():
        out += [f"<h2 id={e}>{e}</h2>", f"<p>{ABOUT[e]} The cells took {seconds_of(results, e) / 3600:.2f} hours.</p>"]
        for dataset in DATASETS:
            path = draw_experiment(results, e, dataset)
            if path:
                out.append(f"<h3>{dataset}</h3><img src='charts/{path.name}' alt='{e}, {dataset}'>")
        out += [*pictures(results, e, every_picture), "<details><summary>The tables</summary>", *page.html, "</details>"]
    page = Page()
    times_page(results, page)
    out += ["<h2 id=time>Time</h2>", *page.html]
    if (results.folder / "tables.md").exists():
        out.append("<h2 id=tables>Tables</h2><p>Not in the paper: gaps of tables filled and odd rows found, beside "
                   "scikit-learn: <a href='tables.md'>tables.md</a>.</p><img src='tables-fill.png' alt='tables'>")
    write(results.folder / "report.html", "\n".join(out) + "\n</html>\n")


def write_readme(results):
    """Puts the counts into README.md between its marks, if it has both."""
    path = results.folder / "README.md"
    if path.exists():
        text = path.read_text(encoding="utf-8")
        lines = "\n".join(counted_lines(results))
        new = re.sub(r"(?s)(<!-- counted -->\n).*?(<!-- end -->\n)", lambda m: f"{m[1]}\n{lines}\n\n{m[2]}", text, count=1)
        if new != text:
            write(path, new)


def report(folder, every_picture=False):
    results = Results(folder)
    shown = {}
    for e in results.experiments:
        if not results.cells(results.of(e)):
            continue
        shown[e] = page = Page()
        experiment_page(results, e, page)
        write_csv(results, e)
        write(results.folder / f"{e}.md", f"# {e}\n\n{ABOUT[e]}\n\n{page.markdown()}\n---\nWritten by `paper/report.py`; the "
              f"cells took {seconds_of(results, e) / 3600:.2f} hours, by their own account. Mean ± standard deviation (of "
              f"n - 1) over seeds. {MARKS}\n")
    if results.tier == "paper":
        page = Page()
        page.heading(1, "What agrees with the paper, counted")
        counts_page(results, page)
        page.heading(2, "Those that do not agree")
        exceptions_page(results, page)
        write(results.folder / "agreement.md", page.markdown())
        draw_agreement(results)
        write_readme(results)
    write_report(results, shown, every_picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="paper/results", metavar="DIR", help="default: paper/results")
    parser.add_argument("--pictures", action="store_true", help="show the pictures of every dataset in report.html, not "
                        "those of Fashion-MNIST alone")
    options = parser.parse_args()
    try:
        report(options.folder, options.pictures)
    except OSError as e:
        sys.exit(f"report.py: {e.filename}: {e.strerror}; bpcn-paper reproduce writes cells.csv and plan.csv")


if __name__ == "__main__":
    main()
