"""Programs of the book Dive into Deep Learning for MXNet, with dflow in its place: `python -m examples.seeds.NAME`."""
