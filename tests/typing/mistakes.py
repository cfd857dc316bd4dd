"""Mistakes that the stubs show. mypy runs with --strict: where a line has no such error, its comment is one."""

import dflow
import dflow.numpy as np
import dflow.numpy.typing as npt

x = np.zeros((2, 3))

np.zeros(3.5)  # type: ignore[call-overload]
np.sum(x, keepdim=True)  # type: ignore[call-arg]
np.sum(x, axis="rows")  # type: ignore[arg-type]
np.sort(x, kind="quickest")  # type: ignore[arg-type]
np.sin(x, where=True, outs=x)  # type: ignore[call-arg]
np.sin()  # type: ignore[call-arg]
np.add(x)  # type: ignore[call-arg]
np.sin.reduce(x)  # type: ignore[misc]
np.where(x > 1, x)  # type: ignore[call-overload]
np.clip(x, min=0).nosuch()  # type: ignore[attr-defined]
np.absolut(x)  # type: ignore[attr-defined]
np.float  # type: ignore[attr-defined]  # noqa: B018
np.linalg.qr(x, mode="economic")  # type: ignore[call-overload]
np.fft.fft(x, norm="forwards")  # type: ignore[arg-type]
np.random.default_rng(1).norma()  # type: ignore[attr-defined]
np.random.default_rng(1).normal(scale=object())  # type: ignore[call-overload]
x.shap  # type: ignore[attr-defined]  # noqa: B018
x.ndim = 3  # type: ignore[misc]
x.sort(0).sum()  # type: ignore[attr-defined, func-returns-value]
x.astype(np.int8, "K", "unsave")  # type: ignore[call-overload]
x.flags.writable = False  # type: ignore[attr-defined]
x @ None  # type: ignore[operator]
integers: npt.NDArray[np.int64] = np.zeros(3)  # type: ignore[assignment]
number: float = x.sum()  # type: ignore[assignment]
dflow.submit("sum", x)  # type: ignore[call-overload]
dflow.submit(sum, x, shape=3).result()  # type: ignore[attr-defined]
dflow.engine.set_num_workers("all")  # type: ignore[arg-type]
