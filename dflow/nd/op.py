"""`nd.op`, where MXNet 1 has its operators: the functions of nd by the same names."""


def __getattr__(name):
    from dflow import nd  # which imports this module
    return getattr(nd, name)


def __dir__():
    return sorted(__getattr__("__all__"))
