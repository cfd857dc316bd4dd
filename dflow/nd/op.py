"""`nd.op`, where MXNet 1 has its operators: the functions of nd by the same names."""

import sys


def __getattr__(name):
    return getattr(sys.modules["dflow.nd"], name)


def __dir__():
    return sorted(__getattr__("__all__"))
