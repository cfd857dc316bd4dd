"""Finds that are not mended yet. Statements like them are left out, and the program of each must still differ.

tests/test_fuzz.py fails when one no longer differs: then its entry goes, and its program joins found.py.
"""

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Known:
    reason: str
    pattern: str  # of the statements that are left out
    program: str  # statements, one a line, that show it
    condition: Any = None  # of the statement and the variables, besides the pattern
    crashes: bool = False  # its program ends the process


KNOWN: list[Known] = [
]
COMPILED = [(re.compile(known.pattern), known.condition) for known in KNOWN]


def known(statement, variables):
    """Whether a statement is like one of these."""
    return any(
        pattern.search(statement) and (condition is None or condition(statement, variables))
        for pattern, condition in COMPILED
    )
