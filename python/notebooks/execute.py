"""Runs notebooks from top to bottom, without Jupyter: execute.py NOTEBOOK... keeps what they print and draw in them."""
from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


def _evaluated(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell; the value of its last line, if that is an expression without a semicolon."""
    tree = ast.parse(source)
    shown = tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";")
    last = tree.body.pop() if shown else None
    exec(compile(tree, "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def _figures() -> list[dict[str, Any]]:
    outputs = []
    for number in pyplot.get_fignums():
        png = io.BytesIO()
        pyplot.figure(number).savefig(png, dpi=60, bbox_inches="tight", metadata={"Software": None})
        data = {"image/png": b64encode(png.getvalue()).decode()}
        outputs.append({"output_type": "display_data", "metadata": {}, "data": data})
    pyplot.close("all")
    return outputs


def executed(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its cells."""
    pyplot.close("all")  # figures of others
    names: dict[str, Any] = {"__name__": "__main__"}
    for count, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _evaluated("".join(cell["source"]), names)
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
        if value is not None:
            html = value._repr_html_() if hasattr(value, "_repr_html_") else None
            data = {"text/plain": [repr(value)], **({"text/html": [html]} if html else {})}
            outputs.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
        cell["outputs"] = outputs + _figures()
        cell["execution_count"] = count
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(json.dumps(executed(json.loads(Path(name).read_text())), indent=1, ensure_ascii=False) + "\n")
