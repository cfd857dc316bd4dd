"""The type of ndarray."""

from typing import Any

class ArrayType(type):
    def __instancecheck__(cls, x: Any) -> bool: ...
    def __subclasscheck__(cls, kind: type) -> bool: ...
