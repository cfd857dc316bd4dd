"""Docstrings of what NumPy has, too: what dflow says of it, how it runs, then NumPy's own text, of the NumPy at hand.

They are put together when somebody asks for them, where that can be: an import has some hundreds.
"""

import re
import sys

# How the kinds of rows run (see dflow/ops/table.py).
RUNS = {
    "ufunc": "returns at once. Small work on arrays that are there is done in the call; else it is fused with the "
             "elementwise operations before and after it, and they run block by block on all workers.",
    "kernel": "returns at once. Small work on arrays that are there is done in the call, the rest by tasks of compiled "
              "code on workers.",
    "view": "returns at once, with a view where NumPy's result is one; a copy is a task of compiled code.",
    "host": "returns at once. Small work on arrays that are there is done in the call; else a worker calls a function "
            "of NumPy's, of SciPy's or of dflow's in Python, for some arguments at least.",
    "blocking": "waits for the arrays on whose values the shape or the type of the result depends.",
    "reads": "waits for the array.",
    "copies": "waits for its arguments, then calls NumPy's function on copies of them.",
    "shapes": "returns at once: it looks at shapes and types alone.",
    "caller": "done when the call returns.",
}
SOME = "returns at once, but where it waits for what is named above. The work is done as tasks on workers."
CLOSE = "Unlike NumPy: the last bits of floating point results may differ."
STREAM = "Unlike NumPy: the numbers are those of dflow's own streams."

WAITING = ("blocking", "copies", "reads")

MARGIN = re.compile(r"\n( *)[^ \n]")
SIGNATURE = re.compile(r"[\w.]+\([^\n]*(?:\n[^\n]+)*?\n?\)\n\s*\n")


def plain(text):
    """A docstring without the indentation of the code around it: that of the first line below the first."""
    text = (text or "").strip()
    margin = MARGIN.search(text)
    return text.replace(f"\n{margin[1]}", "\n") if margin else text


def composed(own, kind, theirs, name, *notes):
    """A docstring: dflow's text, how what is of this kind runs, notes, and NumPy's text of `name`.

    Who has no text of his own has NumPy's first paragraph.
    """
    own, theirs = plain(own), (theirs or "").strip()
    theirs = plain(theirs[len(signature_in(theirs)):])
    if not own:
        own, _, theirs = theirs.partition("\n\n")
    waits = kind not in WAITING and "wait" in own.lower()
    heading = f"NumPy's documentation of `{name}`:" if theirs else ""
    return "\n\n".join(filter(None, [own, f"Runs: {SOME if waits else RUNS[kind]}", *notes, heading, theirs])) + "\n"


def signature_in(text):
    """The signature that the texts of functions in C may begin with, a paragraph, or nothing."""
    found = SIGNATURE.match(text)
    return found[0] if found else ""


def of_ufunc(ufunc):
    """The docstring of dflow's ufunc for one of NumPy's, or another library's, below its signature."""
    text, name = (ufunc.__doc__ or "").strip(), ufunc.__name__
    numpys = getattr(sys.modules.get("numpy"), name, None) is ufunc
    made = composed("", "ufunc", text, f"numpy.{name}" if numpys else name)
    return signature_in(text) + (made if numpys else made.replace("NumPy's documentation", "The documentation", 1))


class Later:
    """A docstring that is put together by a call."""

    __slots__ = ("parts",)

    def __init__(self, *parts):
        self.parts = parts

    def __call__(self):
        own, kind, numpys, name, *notes = self.parts
        return composed(own, kind, numpys.__doc__, name, *notes)
