"""The site of the documentation, by Sphinx: guide, reference, sync table, examples, changes, with a search.

`make docs` writes it to build/docs. Its sources are put together in build/docs-sources: the Markdown of the repository
as it lies, so that links between pages hold, and the reference, made of the docstrings: a page for each name that NumPy
has, too, one for each other module. A warning of Sphinx is an error, and so is a link within the site that leads
nowhere; links to other places are not followed.
"""

import argparse
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import numpy

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# What is shown as it lies, by pattern.
SOURCES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "docs/*.md", "docs/*.png",
           "examples/*.md", "examples/*.py", "bench/NOTES.md")
GUIDE = ["waiting", "profiling", "tuning", "errors", "memory", "processes", "devices", "libraries", "held_by_numpy",
         "onnx", "mxnet_tests", "sync"]

# Modules whose names have pages of their own, with what NumPy calls them.
NUMPYS = {"dflow.numpy": "NumPy's functions", "dflow.numpy.linalg": "Linear algebra", "dflow.numpy.fft":
          "Fourier transforms", "dflow.numpy.random": "Random numbers"}
CLASSES = {"dflow.ndarray": numpy.ndarray, "dflow.numpy.random.Generator": numpy.random.Generator,
           "dflow.numpy.random.RandomState": numpy.random.RandomState}
# Modules that are one page.
OWN = """dflow dflow.engine dflow.devices dflow.autograd dflow.npx dflow.npx.image dflow.npx.random dflow.gluon
    dflow.gluon.nn dflow.gluon.rnn dflow.gluon.loss dflow.gluon.metric dflow.gluon.utils dflow.gluon.data
    dflow.gluon.data.vision dflow.gluon.data.vision.transforms dflow.gluon.data.batchify dflow.gluon.model_zoo.vision
    dflow.gluon.contrib.nn dflow.gluon.contrib.estimator dflow.init dflow.optimizer dflow.lr_scheduler dflow.kvstore
    dflow.image dflow.onnx dflow.profiler dflow.nd dflow.nd.contrib dflow.nd.linalg dflow.nd.random
    dflow.util""".split()

CONFIGURATION = '''
import sys
sys.path.insert(0, {root!r})
from tools import pages
import dflow
project, version, release = "dflow", dflow.__version__, dflow.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc", "myst_parser"]
html_theme, html_title = "furo", f"dflow {{dflow.__version__}}"
templates_path, exclude_patterns, root_doc = [], [], "index"
source_suffix = {{".rst": "restructuredtext", ".md": "markdown"}}
myst_heading_anchors, myst_enable_extensions = 4, []
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
numpydoc_show_class_members = numpydoc_class_members_toctree = False
autodoc_typehints, autoclass_content, add_module_names, python_use_unqualified_type_names = "none", "both", False, True
html_show_sphinx, html_copy_source, html_show_copyright = False, False, False
toc_object_entries = False
nitpicky = False
setup = pages.setup
'''


def title(text, line="="):
    return f"{text}\n{line * len(text)}\n"


def first_line(thing):
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(thing) or "").strip()
    paragraphs = [p for p in text.split("\n\n") if p and not p.startswith("Runs:")]
    paragraph = " ".join((paragraphs or [""])[0].split())
    if paragraph.endswith(")") and len(paragraphs) > 1:         # the signature of a ufunc
        paragraph = " ".join(paragraphs[1].split())
    sentence = paragraph.split(". ")[0].rstrip(".")
    return literal(sentence)


def literal(text):
    """A line of a docstring as reStructuredText that says nothing but itself."""
    return "".join(f"\\{c}" if c in "*`_|\\" else c for c in text)


SHOWN = {}                  # what is documented already, by its id: where


def directive(module, name, thing):
    """What shows a docstring; of what is shown elsewhere already, where that is."""
    path = f"{module}.{name}"
    known = SHOWN.setdefault(id(thing), path)
    if known != path:
        return f"The same as :py:obj:`{known}`.\n"
    kind = "class" if isinstance(thing, type) else "function" if callable(thing) else "data"
    extra = "   :members:\n" if kind == "class" and not module.startswith("dflow.numpy") else ""
    return f".. auto{kind}:: {path}\n{extra}"


def names(module):
    """The public names of a module that are documented where they are: neither modules nor NumPy's own objects."""
    for name in dir(module):
        thing = getattr(module, name)
        if name[0] != "_" and not isinstance(thing, ModuleType):
            yield name, thing


def is_numpys(module, name, thing):
    """Whether it is the object of that name in NumPy."""
    return getattr(importlib.import_module(module.removeprefix("dflow.")), name, None) is thing


def write_numpys(folder):
    """A page for each name of NumPy's that is ours; the others are listed."""
    for path, heading in NUMPYS.items():
        module = importlib.import_module(path)
        mine, theirs = [], []
        for name, thing in names(module):
            (theirs if is_numpys(path, name, thing) or not callable(thing) else mine).append((name, thing))
        place = folder / path
        place.mkdir(parents=True)
        for name, thing in mine:
            (place / f"{name}.rst").write_text(f"{title(f'{path}.{name}')}\n{directive(path, name, thing)}")
        lines = [title(f"{heading}: {path}"), ".. list-table::\n"]
        lines += [f"   * - :doc:`{name} <{path}/{name}>`\n     - {first_line(thing)}" for name, thing in mine]
        lines += ["\nNumPy's own objects: " + ", ".join(f"``{name}``" for name, _ in theirs) + "\n"] if theirs else []
        lines += [".. toctree::\n   :hidden:\n", *(f"   {path}/{name}" for name, _ in mine)]
        (folder / f"{path}.rst").write_text("\n".join(lines) + "\n")


def write_classes(folder):
    for path, theirs in CLASSES.items():
        home, _, name = path.rpartition(".")
        thing = getattr(importlib.import_module(home), name)
        lines = [title(path), f".. autoclass:: {path}\n   :no-index:\n"]
        for member in dir(thing):
            found = inspect.getattr_static(thing, member)
            if member[0] != "_" and (hasattr(theirs, member) or path == "dflow.ndarray"):
                kind = "method" if callable(getattr(thing, member, None)) else "attribute"
                lines.append(f".. auto{kind}:: {path}.{member}\n" if inspect.getdoc(found) else "")
        (folder / f"{path}.rst").write_text("\n".join(lines))


def write_own(folder):
    for path in OWN:
        module = importlib.import_module(path)
        text = inspect.getdoc(module) or ""
        lines = [title(path), *(f"| {literal(line)}" if line else "" for line in text.splitlines()), ""]
        for name, thing in names(module):
            if f"{path}.{name}" not in CLASSES and inspect.getdoc(thing):
                lines += [title(name, "-"), directive(path, name, thing)]
        (folder / f"{path}.rst").write_text("\n".join(lines))


INDEX = """# dflow

```{toctree}
:maxdepth: 1

README.md
docs/README.md
```

```{toctree}
:caption: Guide
:maxdepth: 1

GUIDE
```

```{toctree}
:caption: Reference
:maxdepth: 1

REFERENCE
```

```{toctree}
:caption: More
:maxdepth: 1

examples/README.md
CHANGELOG.md
ARCHITECTURE.md
CONTRIBUTING.md
bench/NOTES.md
```
"""


def write_sources(folder):
    """All that Sphinx reads."""
    shutil.rmtree(folder, ignore_errors=True)
    for pattern in SOURCES:
        for source in ROOT.glob(pattern):
            target = folder / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (folder / "reference").mkdir()
    for write in (write_numpys, write_classes, write_own):
        write(folder / "reference")
    guide = "\n".join(f"docs/{name}.md" for name in GUIDE if (folder / f"docs/{name}.md").exists())
    listed = [*NUMPYS, *CLASSES, *OWN]
    index = INDEX.replace("GUIDE", guide).replace("REFERENCE", "\n".join(f"reference/{path}" for path in listed))
    (folder / "index.md").write_text(index)
    (folder / "conf.py").write_text(CONFIGURATION.format(root=str(ROOT)))


# -- docstrings ------------------------------------------------------------------------------------

BEYOND = re.compile(r"^(?:NumPy's|The) documentation of `|^(?=Examples\n-{3})", re.MULTILINE)
SPECIAL = re.compile(r"^\*\*?\w.*$|[*|]|(?<=\w)_(?!\w)", re.MULTILINE)


FLOWS = re.compile(r"^(Inputs|Outputs)\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^\w[\w ]*\n-{3,}$", re.MULTILINE)
STARS = re.compile(r"^\*\*?(?=\w)", re.MULTILINE)


def stars(match):
    return "\\*" * len(match[0])


def with_flows(text):
    """What a layer takes and gives, sections that numpydoc does not know, as lists below the summary."""
    flows = "".join(f".. rubric:: {name}\n\n{STARS.sub(stars, body.rstrip())}\n\n"
                    for name, body in FLOWS.findall(text))
    if not flows:
        return text
    text = FLOWS.sub("", text)
    first = SECTION.search(text)
    at = first.start() if first else len(text)
    return f"{text[:at].rstrip()}\n\n{flows}{text[at:]}"


def marked_up(text):
    """A docstring as reStructuredText: dflow's text is plain, with code in single quotes; NumPy's is left as it is."""
    found = BEYOND.search(text)
    own, rest = (text[:found.start()], text[found.start():]) if found else (text, "")
    parts = re.split(r"(?<!`)`([^`]+)`(?!`)", own)
    return "".join(f"``{part}``" if i % 2 else SPECIAL.sub(escaped, part) for i, part in enumerate(parts)) + rest


def escaped(match):
    """What would say something, with a backslash; a line of starred parameters, which numpydoc knows, as it is."""
    return match[0] if len(match[0]) > 1 else f"\\{match[0]}"


# -- for Sphinx ------------------------------------------------------------------------------------

def setup(app):
    """NumPy's docstrings name labels and directives of its own site, which are not in this one."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    def own_text(app, what, name, thing, options, lines):
        lines[:] = with_flows(marked_up("\n".join(lines))).split("\n")

    class Nothing(Directive):
        has_content, optional_arguments, final_argument_whitespace = True, 9, True
        option_spec = None

        def run(self):
            return []

    def as_text(app, env, node, content):
        return nodes.literal("", content.astext()) if node["refdoc"].startswith("reference/") else None

    app.add_directive("plot", Nothing)
    app.connect("missing-reference", as_text)
    app.connect("autodoc-process-docstring", own_text, priority=100)       # before numpydoc's


# -- links -----------------------------------------------------------------------------------------

class Links(HTMLParser):
    """The places of a page, and where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.places, self.targets = set(), []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.places |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets += [found[key] for key in ("href", "src") if found.get(key)]


def broken_links(folder):
    """(page, target), of links within the site that lead nowhere."""
    pages = {page.resolve(): Links(page) for page in sorted(folder.rglob("*.html"))}
    for page, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if there.is_dir():
                there /= "index.html"
            place = unquote(parts.fragment)
            if not there.exists() or place and there in pages and place not in pages[there].places:
                yield page.relative_to(folder.resolve()), target


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.pages", description=__doc__.partition("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "docs", help="the site's folder")
    to = parser.parse_args().to
    sources = to.with_name(f"{to.name}-sources")
    write_sources(sources)
    shutil.rmtree(to, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "-b", "html",
                           str(sources), str(to)])
    broken = list(broken_links(to)) if to.exists() else []
    for page, target in broken:
        print(f"{page}: {target} leads nowhere")
    sys.exit(done.returncode or bool(broken))


if __name__ == "__main__":
    main()
