"""Random programs over the CPU and GPUs give NumPy's results, bit for bit, whatever is late."""

import programs
import pytest
from test_oracle import Configuration, check

import dflow
from dflow import cpu, gpu

DEVICES = 1 + min(2, dflow.num_gpus())      # where two names are one device, as_in_ctx() copies nothing
CONFIGURATIONS = {
    "default": Configuration(devices=DEVICES),
    "queued-delays": Configuration(workers=4, limit=0, delays=50, devices=DEVICES),
    "held": Configuration(workers=2, limit=0, hold=3e-4, devices=DEVICES),
    "unfused-held": Configuration(workers=2, limit=0, bulk=0, hold=3e-4, devices=DEVICES),
    "pairs": Configuration(workers=1, limit=0, bulk=2, devices=DEVICES),
    "naive": Configuration(naive=True, devices=DEVICES),
}
EACH = 30


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_random_programs_give_numpys_results(name, monkeypatch):
    """As tests/test_oracle.py has them, but cpu(1) is gpu(0), and cpu(2) the next GPU, if there is one."""
    monkeypatch.setattr(programs, "cpu", lambda i: gpu(i - 1) if i else cpu(0))
    first = 1000 * list(CONFIGURATIONS).index(name)
    check(CONFIGURATIONS[name], range(first, first + EACH))
