"""GPUs: memory and products beside CuPy's, what an operation costs the calling thread, copies under products, graphs.

Limits are for an NVIDIA H200 and the default size. CuPy's side is on its null stream, and waits for the device.
"""
import dflow
import dflow.numpy
from dflow import cpu
from dflow._gpu import cuda

from .devices import at_once, copies, products
from .registry import Row, experiment, row_of
from .timing import Side, interleaved, spread

SIZE, QUICK = 8192, 64
DEVICE = dflow.gpu(0)


def wait_for(made):
    """Wait until arrays are computed, in lists and tuples too."""
    if isinstance(made, (list, tuple)):
        for one in made:
            wait_for(one)
    else:
        made.wait_to_read()


def uniform(*shape, dtype="float32"):
    return dflow.numpy.random.uniform(size=shape).astype(dtype)


def beside_cupy(run, stmt, ours, call, theirs, number):
    """The Timings of a statement that makes z, and of a call of CuPy's."""
    cupy = cuda.load()
    sides = {"dflow": Side(stmt, "wait_for(z)", "kept = []", np=dflow.numpy, wait_for=wait_for, **ours),
             "cupy": Side(call, "there.synchronize()", cupy=cupy, there=cupy.cuda.Device(0), **theirs)}
    timings = interleaved(sides, run.repeat(9), number)
    return timings["dflow"], timings["cupy"]


def chain(run, size, limit):
    n = 4 * size ** 2
    x, y = (uniform(n).as_in_ctx(DEVICE) for _ in range(2))
    # What is read and written is as many bytes as two arrays read and one written.
    source, target = (cuda.load().ndarray((3 * n // 2,), "float32") for _ in range(2))
    # One kernel for each: several statements in one group would read x and y once, and what nobody keeps is not stored.
    before = dflow.engine.bulk(5)
    try:
        ours, theirs = beside_cupy(run, "z = np.exp(x) * 2 + y / (x - 3)\nkept.append(z)", {"x": x, "y": y},
                                   "cupy.copyto(target, source)", {"target": target, "source": source}, 16)
    finally:
        dflow.engine.bulk(before)
    speeds = [f"{3 * 4 * n / timing.total / 1e9:,.0f} GB/s" for timing in (ours, theirs)]
    yield row_of(f"exp(x) * 2 + y / (x - 3), {n:,} float32", ours, theirs, limit=limit, size=size,
                 note=f"{speeds[0]}; base: cupy.copyto of as many bytes, {speeds[1]}")


def product(run, size, limit):
    for dtype in ("float32", "float16"):
        x = uniform(size, size, dtype=dtype)
        ours, theirs = beside_cupy(run, "z = x @ x", {"x": x.as_in_ctx(DEVICE)}, "z = cupy.matmul(x, x)",
                                   {"x": cuda.load().asarray(x.asnumpy())}, 10)
        speed = 2 * size ** 3 / ours.total / 1e12
        yield row_of(f"x @ x, {size} x {size} {dtype}", ours, theirs, limit=limit, size=size,
                     note=f"{speed:.3g} TFLOP/s; base: cupy.matmul")


def submission(run, size, limit):
    n = 10 ** 6 * size // SIZE
    x, y = (uniform(n).as_in_ctx(DEVICE) for _ in range(2))
    names = {"x": x, "y": y, "wait_for": wait_for}
    sides = {"x = x + y": Side("x = x + y", "wait_for(x)", **names),
             # Of results that nobody keeps, most would not be computed.
             "x + y, each kept": Side("kept.append(x + y)", "wait_for(kept[-1])", "kept = []", **names)}
    for stmt, timing in interleaved(sides, run.repeat(9), 1000).items():
        cost = spread([1e6 * seconds for seconds in timing.submits])
        yield Row(f"{stmt}, {n:,} float32: submitted", cost.median, "us", limit, low=cost.low, high=cost.high,
                  dflow=timing.total, submit=timing.submit, wait=timing.wait, size=size, note="1,000 of them")


def overlap(run, size, limit):
    x = uniform(size, size).as_in_ctx(DEVICE)
    names = {"finish": "wait_for(kept)", "wait_for": wait_for, "x": x, "products": products, "copies": copies}
    label = f"10 products of {size} x {size}"
    done, host = products(x), cpu(0)
    wait_for(done)
    yield from at_once(run, size, limit, label, {
        "alone": "products(x)",
        f"copied to {host}": "copies(done, host)",
        "computed and copied": "copies(made := products(x), host), made",
    }, done=done, host=host, **names)
    arrays = copies(done, host)
    del done
    yield from at_once(run, size, limit, label, {
        "alone again": "products(x)",
        f"10 others copied to {DEVICE}": "copies(arrays, device)",
        "others copied meanwhile": "copies(arrays, device), products(x)",
    }, arrays=arrays, device=DEVICE, **names)


def replay(run, size, limit):
    w, b = uniform(100, 100).as_in_ctx(DEVICE), uniform(100).as_in_ctx(DEVICE)

    def network(x):
        for _ in range(5):
            x = dflow.numpy.tanh(x @ w + b) * 0.5
        return x

    sides = {name: Side("x = function(x)", "wait_for(x)", function=function, x=uniform(10, 100).as_in_ctx(DEVICE),
                        wait_for=wait_for) for name, function in (("graph", dflow.graph(network)), ("eager", network))}
    timings = interleaved(sides, run.repeat(9), 50)
    yield row_of("graph of 20 operations on 1,000 elements", timings["graph"], timings["eager"], limit=limit, size=size,
                 note=f"{1e6 * timings['graph'].total:.0f} us a replay; base: eager")


# With their limits: 85 % of the bandwidth of a copy, 95 % of the speed of CuPy's products.
PARTS = {"chain": (chain, 1 / 0.85), "product": (product, 1 / 0.95), "submission": (submission, 10),
         "overlap": (overlap, 1.1), "replay": (replay, 1)}


@experiment("gpu", "a GPU: memory and products beside CuPy, submission, copies under products, graphs (--quick: tiny)",
            limit="1.18, 1.05 x CuPy, 10 us, 1.1 x the longer, 1 x eager", sizes=(SIZE,),
            size_is="rows of matrices (elements of a chain: four times its square)", parts=PARTS)
def gpu(run):
    if not dflow.num_gpus():
        yield Row(f"nothing to measure without a GPU: {cuda.missing()}", unit="")
        return
    for size in (QUICK,) if run.quick and run.sizes == (SIZE,) else run.sizes:
        for name in run.only or PARTS:
            measure, limit = PARTS[name]
            yield from measure(run, size, limit if size == SIZE else None)
