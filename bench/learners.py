"""Training in one library: run as a script with its name, it reads `work times` from stdin and prints the seconds.

A process of its own for each library, as they cannot share an interpreter (MXNet wants an old NumPy), and as threads of
one would disturb the other. MXNet's programs and dflow's are the same text: only the import differs.
"""
import sys
import time

SEED, LENET = 1024, 256             # sizes of a batch


def sizes(work):
    return {"seed": (SEED, 512, (2048, 512, 1)), "small": (8, 16, (32, 1))}[work]


class Gluon:
    """MXNet, or dflow with MXNet's face."""

    def __init__(self, library, hybrid):
        self.library = __import__(library, fromlist=["autograd", "gluon", "init", "np", "npx"])
        self.hybrid = hybrid
        self.library.npx.set_np()

    def network(self, net, loss):
        net.initialize(self.library.init.Xavier())
        if self.hybrid:
            net.hybridize(static_alloc=True, static_shape=True)
            loss.hybridize(static_alloc=True, static_shape=True)
        return net, loss, self.library.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})

    def dense(self, work):
        nn = self.library.gluon.nn
        batch, inputs, units = sizes(work)
        net = nn.HybridSequential()
        for n in units[:-1]:
            net.add(nn.Dense(n, activation="relu", in_units=inputs))
            inputs = n
        net.add(nn.Dense(units[-1], in_units=inputs))
        return self.network(net, self.library.gluon.loss.L2Loss())

    def seed_forward(self):
        np, (net, loss, _) = self.library.np, self.dense("seed")

        def run(times):
            for _ in range(times):
                x, y = np.random.normal(size=(SEED, 512)), np.ones((SEED,))
                out = loss(y, net(x))
            out.wait_to_read()
            self.library.npx.waitall()
        return run

    def step(self, net, loss, trainer, x, y, batch):
        with self.library.autograd.record():
            out = loss(net(x), y)
        out.backward()
        trainer.step(batch)

    def seed_training(self):
        np, parts = self.library.np, self.dense("seed")

        def run(times):
            for _ in range(times):
                self.step(*parts, np.random.normal(size=(SEED, 512)), np.ones((SEED,)), SEED)
            self.library.npx.waitall()
        return run

    def repeated(self, parts, x, y, batch):
        def run(times):
            for _ in range(times):
                self.step(*parts, x, y, batch)
            self.library.npx.waitall()
        return run

    def small_training(self):
        np = self.library.np
        return self.repeated(self.dense("small"), np.random.normal(size=(8, 16)), np.random.normal(size=(8, 1)), 8)

    def lenet_training(self):
        np, nn = self.library.np, self.library.gluon.nn
        net = nn.HybridSequential()
        net.add(nn.Conv2D(6, kernel_size=5, padding=2, activation="sigmoid"), nn.AvgPool2D(pool_size=2, strides=2),
                nn.Conv2D(16, kernel_size=5, activation="sigmoid"), nn.AvgPool2D(pool_size=2, strides=2),
                nn.Dense(120, activation="sigmoid"), nn.Dense(84, activation="sigmoid"), nn.Dense(10))
        x, y = np.random.uniform(size=(LENET, 1, 28, 28)), np.random.randint(0, 10, size=(LENET,))
        parts = self.network(net, self.library.gluon.loss.SoftmaxCrossEntropyLoss())
        return self.repeated(parts, x, y, LENET)


class Torch:
    def __init__(self):
        import torch
        self.torch = torch

    def dense(self, work):
        nn = self.torch.nn
        _, inputs, units = sizes(work)
        layers = []
        for n in units:
            layers += [nn.Linear(inputs, n), nn.ReLU()]
            inputs = n
        return nn.Sequential(*layers[:-1])

    def loss(self, out, y):
        return ((out - y) ** 2 / 2).mean()

    def seed_forward(self):
        torch, net = self.torch, self.dense("seed")

        def run(times):
            with torch.no_grad():
                for _ in range(times):
                    self.loss(net(torch.randn(SEED, 512)), torch.ones(SEED, 1))
        return run

    def trained(self, net, loss, batch):
        optimizer = self.torch.optim.SGD(net.parameters(), lr=0.01)

        def run(times):
            for _ in range(times):
                x, y = batch()
                optimizer.zero_grad()
                loss(net(x), y).backward()
                optimizer.step()
        return run

    def seed_training(self):
        torch = self.torch
        return self.trained(self.dense("seed"), self.loss, lambda: (torch.randn(SEED, 512), torch.ones(SEED, 1)))

    def small_training(self):
        x, y = self.torch.randn(8, 16), self.torch.randn(8, 1)
        return self.trained(self.dense("small"), self.loss, lambda: (x, y))

    def lenet_training(self):
        torch, nn = self.torch, self.torch.nn
        net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5),
                            nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Sigmoid(),
                            nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10))
        x, y = torch.rand(LENET, 1, 28, 28), torch.randint(0, 10, (LENET,))
        return self.trained(net, nn.CrossEntropyLoss(), lambda: (x, y))


class Jax:
    def __init__(self):
        import jax
        self.jax = jax

    def dense(self, work):
        jax, np = self.jax, self.jax.numpy
        _, inputs, units = sizes(work)
        params = []
        for n in units:
            params.append((jax.random.normal(jax.random.PRNGKey(n), (inputs, n)) / inputs ** 0.5, np.zeros(n)))
            inputs = n

        def loss(params, x, y):
            for w, b in params[:-1]:
                x = jax.nn.relu(x @ w + b)
            return ((x @ params[-1][0] + params[-1][1] - y) ** 2 / 2).mean()
        return params, loss

    def trained(self, params, step):
        state = [params, self.jax.random.PRNGKey(0)]

        def run(times):
            for _ in range(times):
                state[:] = step(*state)
            self.jax.block_until_ready(state)
        return run

    def seed_forward(self):
        jax, (params, loss) = self.jax, self.dense("seed")

        @jax.jit
        def step(value, key):
            key, part = jax.random.split(key)
            return loss(params, jax.random.normal(part, (SEED, 512)), jax.numpy.ones((SEED, 1))), key
        return self.trained(0.0, step)

    def seed_training(self):
        jax, (params, loss) = self.jax, self.dense("seed")

        @jax.jit
        def step(params, key):
            key, part = jax.random.split(key)
            grads = jax.grad(loss)(params, jax.random.normal(part, (SEED, 512)), jax.numpy.ones((SEED, 1)))
            return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), key
        return self.trained(params, step)

    def small_training(self):
        jax, (params, loss) = self.jax, self.dense("small")
        x, y = jax.random.normal(jax.random.PRNGKey(1), (8, 16)), jax.random.normal(jax.random.PRNGKey(2), (8, 1))

        @jax.jit
        def step(params, key):
            grads = jax.grad(loss)(params, x, y)
            return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), key
        return self.trained(params, step)


LIBRARIES = {"dflow": lambda: Gluon("dflow", False), "dflow graph": lambda: Gluon("dflow", True),
             "mxnet": lambda: Gluon("mxnet", False), "mxnet graph": lambda: Gluon("mxnet", True),
             "torch": Torch, "jax": Jax}


def serve(name):
    """Answer each line with seconds, or with why there are none."""
    library, works = LIBRARIES[name](), {}
    for line in sys.stdin:
        work, times = line.split()
        make = getattr(library, work, None)
        if make is None:
            print("missing", flush=True)
            continue
        if work not in works:
            works[work] = make()
            works[work](2)
        start = time.perf_counter()
        works[work](int(times))
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
