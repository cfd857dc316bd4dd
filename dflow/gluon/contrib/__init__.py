"""MXNet's gluon.contrib: the estimator."""

from dflow.gluon.contrib import estimator

__all__ = ["estimator"]
