"""What MXNet's Gluon has and ours has not."""

from dflow._base.missing import missing  # noqa: F401
