"""What is printed in the README and in the notebooks runs."""
import contextlib
import importlib.util
import io
import json
import re
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PICTURES = Path("/usr/share/datasets/fashion-mnist")


def test_the_lines_of_the_readme_do_what_they_say():
    block = re.search(r"## Python\n```python\n(.*?)```", (TOP / "README.md").read_text(), re.S)[1]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block, {})
    assert printed.getvalue().strip() == block.strip().rpartition("# ")[2]


@pytest.mark.parametrize("name", ["recall", "tables", "stream"])
def test_notebooks_run_and_draw(name):
    if name == "recall" and not PICTURES.exists():
        pytest.skip(f"there is no {PICTURES}")
    spec = importlib.util.spec_from_file_location("execute", TOP / "python/notebooks/execute.py")
    execute = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(execute)
    kept = json.loads((TOP / f"python/notebooks/{name}.ipynb").read_text())
    pictures = [
        sum("image/png" in output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", []))
        for notebook in (kept, execute.executed(json.loads(json.dumps(kept))))
    ]
    assert pictures[0] == pictures[1] >= 1
