"""What MXNet's Gluon has and ours has not."""

from dflow._missing import missing  # noqa: F401
