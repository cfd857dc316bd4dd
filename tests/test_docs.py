"""The pages of docs/ and examples/: each session gives what it shows, each script prints it, links lead somewhere."""

import builtins
import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest
from engines import clean_environment

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parent.parent
GENERATED = {"sync.md"}
PAGES = sorted(path.relative_to(ROOT).as_posix() for folder in ("docs", "examples")
               for path in (ROOT / folder).glob("*.md") if path.name not in GENERATED)
SCRIPTS = [(page, number, *match.groups()) for page in PAGES for number, match in enumerate(
    re.finditer(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / page).read_text(), re.DOTALL))]


@pytest.mark.parametrize("page", PAGES)
def test_sessions(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)         # some write files
    text = (ROOT / page).read_text()
    session = doctest.DocTestParser().get_doctest(re.sub("```.*", "", text), {}, Path(page).name, page, 0)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session)
    vars(builtins).pop("_", None)       # the last value shown
    assert found.failed == 0 and found.attempted == text.count(">>> ")


@pytest.mark.parametrize("page, number, source, output", SCRIPTS, ids=[f"{page}-{n}" for page, n, *_ in SCRIPTS])
def test_scripts(page, number, source, output):
    # Newer Pythons warn at any fork with threads.
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", source], env=clean_environment(),
                          capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


@pytest.mark.parametrize("page", [*PAGES, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_links(page):
    """To files, and to headings in them."""
    for target, place in re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", (ROOT / page).read_text()):
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), target
        if place:
            headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
            assert place in {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}, (target, place)
