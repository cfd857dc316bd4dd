"""MXNet's gluon.contrib: the estimator; layers that MXNet 1 has there."""

from dflow.gluon.contrib import estimator, nn

__all__ = ["estimator", "nn"]


def __dir__():
    return sorted(__all__)
