from dflow.npx import bernoulli as bernoulli
from dflow.npx import normal_n as normal_n
from dflow.npx import seed as seed
from dflow.npx import uniform_n as uniform_n

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]
