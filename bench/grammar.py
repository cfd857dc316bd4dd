"""Random statements and short programs of NumPy's, as people write them: what `parity` measures.

A program is drawn by its seed alone: a class, a size, a type, one of the class's texts, and what stands in its braces.
Nothing here knows what is fast: the search for what is slow is the machine's.
"""
import math
import re
import string
from dataclasses import dataclass

import numpy

TYPES = "f8 f8 f8 f8 f4 f4 i8 i4 u1 ? c16 i2 u8 c8 f2".split()
TURNS = 60                  # of a loop in Python, at most
NUMPYS = "NQKPIM"             # arrays that are NumPy's for dflow, too: data that another library has read

# By name: the largest size, as a power of ten, and the texts. A line of kinds of types comes first (b: bools, i, u:
# integers, f: floats, c: complex); texts of several lines are parted by empty ones. In braces:
#   a, b, c   views of one shape              e         an element            n   a number of Python's or NumPy's
#   q         an element or a number          op        arithmetic            bin any operator of two
#   i, j      places in x, and in rows of A   chain     an expression         un  of one operand, a
#   turns, rows, columns, least, steps        counts of turns of loops
CLASSES = {
    "numbers": (3, """
        biuf
            r = {e} {bin} {q}           r = {q} {bin} {e}           r = {e} {op} {q} {op} {q}   r = float({e})
            r = int({e})                r = bool({e})               r = max({e}, {q})           r = min({e}, {q})
            r = 1 if {e} > {q} else 0   r = abs({e})                r = {e} == {q} or {q} != {e}
            r = round(float({e}), 2)    r = str({e})                r = x[int({e}) % 1]         r = not {e}
        iufc
            r = {e} {op} {q}            r = -{e}                    r = abs({e})                r = complex({e})
            r = {e} == {q}              r = {e}.real                r = ({e}, {e})[0]           r = {e} ** 2
    """),
    "stores": (3, """
        biufc
            w[{i}] = {q}                w[i0] = {q}                 C[i0, {j}] = {q}            C[i0, j0] = {e}
            w[{i}] {op}= {q}            C[i0, j0] {op}= {q}         C[i0][{j}] = {n}            w[-1] = {e} {op} {q}
            C[i0, {j}] = {e} {op} {q}   w[k[0]] {op}= {n}
        biuf
            w[i0] = max(w[i0], {q})     C[i0, {j}] = min({e}, {e})
    """),
    "loops over elements": (3, """
        biufc
            t = {n}
            for i in range({turns}):
                t = t {op} x[i]

            for i in range(1, {turns}):
                w[i] = w[i - 1] {op} x[i]

            for i in range(1, {turns}):
                w[i] {op}= x[i] {op} y[i - 1]

            for i in range({turns}):
                w[k[i]] {op}= {n}

            for t in x[:{turns}]:
                r = t {op} {n}
        biuf
            t = []
            for e in k[:{turns}]:
                if e not in t:
                    t.append(e)

            r = sorted(x[:{turns}])[0]

            t = 0
            for i in range({turns}):
                if x[i] > y[i]:
                    t += 1

            for i in range(1, {turns}):
                if x[i] < x[i - 1]:
                    w[i] = x[i - 1]
                else:
                    w[i] = x[i]

            t = x[0]
            for i in range({turns}):
                t = max(t, x[i])
    """),
    "loops over rows": (6, """
        biufc
            for i in range({rows}):
                C[i] = A[i] {op} B[i]

            for j in range({columns}):
                C[:, j] {op}= A[:, j]

            for i in range({least}):
                C[i, :i + 1] {op}= A[i, :i + 1]

            for i in range(1, {rows}):
                C[i] = C[i - 1] {op} A[i]

            for row in A[:{rows}]:
                r = row {op} B[0]

            for i in range({rows}):
                w[i % len(w)] = A[i].any()
        iufc
            for i in range({rows}):
                C[i] {op}= A[i, j0] * B[i]

            for i in range({least}):
                C[:i, i] {op}= A[i, j0] * B[:i, i]

            for i in range({rows}):
                w[i % len(w)] = A[i].sum()
        f
            for i in range({rows}):
                w[i % len(w)] = np.dot(A[i], B[i])
    """),
    "views": (7, """
        biufc
            r = {a} {op} {b}            r = {a} {op} {q}            r = {q} {op} {a}            r = {a}.copy()
            r = ({a} {op} {b}) {op} {c}     r = {a}.any()           r = {a} == {b}              r = {un}
        biuf
            r = {a} {bin} {b}           r = {a} {bin} {q}           r = {a}.max()               r = {a}.sum()
    """),
    "in place": (7, """
        biufc
            {a} {op}= {b}               {a}[...] = {b}              {a}[...] = {b} {op} {c}     {a}[...] = {n}
        fc
            {a} {op}= {n}               np.multiply({b}, 0.5, out={a})
        iufc
            {a} += 1                    np.add({b}, {c}, out={a})   np.square({b}, out={a})     np.multiply({b}, 2, {a})
            np.negative({a}, out={a})
        f
            np.sqrt({b}, out={a})       np.exp({b}, {a})            np.maximum({b}, 0, out={a})
            np.clip(x, 0.5, 1, out=w)   np.greater(x, y, out=m)
    """),
    "beside NumPy's": (6, """
        biufc
            r = x {op} N                r = N {op} x                r = N {op} {e}              r = {e} {op} N
            r = A {op} Q                r = Q[i0] {op} A            r = Q {op} A[i0]            r = N[i0] {op} {e}
            w[:] = N                    C[i0] = Q[i0]               w {op}= N                   N {op}= x
            r = x[K]                    r = x[P]                    w[K] = N[K]                 w[P] = {n}
            w[P] = N[P]                 r = N[k]                    r = x[K[0]]                 w[K[0]] = N[0]
            r = N == x                  r = N == {e}                r = np.concatenate([x, N])  r = np.where(P, x, N)
            r = np.array([N, N])        r = np.where(N == {e})      r = Q.T {op} A.T            r = np.array(N)

            for row in Q[:{rows}]:
                r = row {op} A[0]

            for i in range({rows}):
                C[i] = Q[i] {op} A[i]

            for i in range({turns}):
                t = N[i] {op} x[i]
        biuf
            r = np.unique(N)            r = np.sum(N)               r = np.maximum(x, N)        r = np.mean(Q, axis=0)
            r = N {bin} x               r = x {bin} N               r = np.sort(N)              r = A[Q[:, 0] > {n}]
            r = {e} - N.max()           r = np.argmax(N)            r = sum(x[P][:{turns}])     r = N.dot(x)
        f
            r = Q @ A[0]                r = np.dot(Q, A[0])         r = np.exp(N)               r = np.sqrt(N) * x
            r = np.linalg.norm(N - x)   r = ((Q - A[0]) ** 2).sum(axis=1)                       r = A @ Q[0]

            for i in range({turns}):
                t = (N[i] - x[i]) ** 2
    """),
    "places": (6, """
        biufc
            r = A[R]                    r = A[R, j0]                r = A[R][:, j0]             r = A[R, J]
            r = A[S]                    r = A[S, j0]                r = A[~S]                   r = A[D]
            r = A[:, L]                 r = A[i0, L]                r = A[S][:, L]              r = A[:, j0][S]
            r = A[np.arange(len(A)), J]                             A[np.arange(len(A)), J] {op}= {n}
            A[S] = {n}                  A[D] = {n}                  A[R] = B                    A[:, L] = {n}
            A[S] {op}= {n}              A[D] {op}= {n}              A[R] {op}= B                A[S, j0] = {n}
            A[R, J] = {n}               A[R, J] {op}= {q}           A[S] = B[S]                 A[D] = B[D]
            r = A[A[:, j0] == {e}]      r = A[J == J[0]]            r = A[np.argsort(J)]
            r = x[k[:9]]                r = x[k][::-1]              w[k[:9]] {op}= {n}          r = A[R[0]:R[0] + 3]
            r = np.take(A, R, axis=0)   r = np.take(A, L, axis=1)   r = A[np.where(S)[0]]
            r = A[R[:9]] {op} B[R[:9]]                              r = A[np.ix_(R[:5], L[:5])]
            r = np.delete(x, k[0])      r = A[R[:9], L[0]:]         r = A[S].sum(axis=0)        r = A[J == 1, j0]
            r = A[I]                    r = A[I, j0]                r = A[M]                    r = A[M, j0]
            r = A[I, J]                 r = A[:, j0][M]             A[M] = {n}                  A[I] = B
            A[M] {op}= {n}              A[I, J] {op}= {n}           A[M, j0] = {n}              r = A[M].sum(axis=0)
            r = Q[R]                    r = Q[S]                    r = Q[R, J]                 r = Q[:, L]
            Q[S] = {n}                  Q[R] = A                    Q[R, J] = {n}               Q[S] {op}= {n}
            r = Q[R] {op} A             r = A[I] {op} Q             r = Q[I[:9]] {op} A[I[:9]]

            for i in range({rows}):
                C[i] = A[R[i]]

            for i in R[:{rows}]:
                C[i] {op}= A[i]

            for i in range({rows}):
                t = A[i, J[i]]
        biuf
            r = x[np.argsort(x)]        r = x[np.argsort(x)[:5]]    r = A[x[:len(A)].argsort()]
            r = A[np.arange(len(A)), A.argmax(axis=1)]              r = np.sort(A[:, j0])[:3]
            r = x[x > {n}]              r = x[(x > {n}) & (x < {q})]                            x[x > {n}] = {n}
            r = A[A > {n}]              A[A < {n}] = {n}            r = A[(A > {n}).any(axis=1)]
        iufc
            np.add.at(w, k, x)
    """),
    "chains": (7, """
        biufc
            r = {chain}
    """),
    "several statements": (7, """
        biufc
            p = {a} {op} {b}
            r = p {op} {c} {op} p

            p = {chain}
            r = p {op} p

            p = {a} {op} {b}
            q = p {op} {n}
            r = q {op} p {op} {a}
    """),
    "reductions": (7, """
        biufc
            r = x.sum()                 r = {a}.sum()               r = A.sum(axis=0)           r = A.sum(axis=1)
            r = x.mean()                r = A.mean(axis=0)          r = A.mean(-1, keepdims=True)
            r = T.sum(axis=1)           r = x.cumsum()              r = A.cumsum(axis=1)        r = A.prod(axis=1)
            r = x.any()                 r = A.all(axis=1)           r = (A {op} B).sum(-1)      r = np.sum(T, (0, 2))
            r = {a}.sum(axis=-1)        r = {a}.mean(axis=0)        x.cumsum(out=w)             r = A[:, j0].cumsum()
        iufc
            A.sum(axis=0, out=w[:A.shape[1]])                       {a}.sum(axis=0, keepdims=True)
        biufc
        biuf
            r = x.max()                 r = {a}.min()               r = A.max(axis=0)           r = A.min(axis=1)
            r = x.argmax()              r = A.argmin(axis=1)        r = T.max(axis=2)           r = np.ptp(x)
        iuf
            r = abs(x - y).max()        r = ((x - y) ** 2).sum()    r = x.std()                 r = A.var(axis=0)
            r = (x > y).sum()           r = np.abs(A).sum(axis=1)   r = (x < 1).any()
    """),
    "products": (6, """
        biufc
            r = np.dot(x, y)            r = x @ y                   r = np.outer(x[:300], y[:300])
            r = A[i0] @ B[i0]           r = A @ A[0]
        fc
            r = np.inner(x, y)          r = np.vdot(x, y)           r = A.T @ A[:, 0]           r = A[:, 0] @ A
            r = A[:40] @ B[:40].T       r = A[:, :30].T @ B         r = np.einsum('ij,ij->i', A, B)
            r = np.linalg.norm(x)       r = np.linalg.norm(A, axis=1)
    """),
    "functions": (6, """
        biufc
            r = np.where(m, x, y)       r = x[m]                    r = x[k]                    r = np.take(x, k)
            w[k] = x                    w[m] = 0                    r = np.concatenate([x, y])  r = np.stack([x, y])
            r = np.roll(x, 1)           r = np.roll(A, 1, axis=1)   r = np.repeat(x, 2)         r = np.tile(x, 2)
            r = np.pad(x, 1)            r = np.flip(x)              r = np.zeros_like(x)        r = np.ones(len(x))
            r = x.reshape(-1, 1)        r = A.ravel()               r = A.T.copy()
            r = np.array([x[0], y[0]])  r = x.reshape(-1)           r = x.copy()
            r = np.arange(len(x))       r = np.linspace(0, 1, len(x))                           r = np.nonzero(m)[0]
            r = np.count_nonzero(m)     r = np.diag(A)              r = np.unique(k)            r = np.bincount(k)
            x[x == y[0]] = 0            x[m] += 1                   x[m] = z[m]                 x[k[:9]] = x[k[-9:]]
            r = np.searchsorted(k, 3)   r = np.array_equal(x, y)    r = (x == y).all()          r = len(x)
            r = x.shape[0]              r = np.split(w, 1)[0]       r = np.meshgrid(x[:50], y[:50])[0]
            r = np.nonzero(x)[0]        r = np.argwhere(A)          w[m] = x[m]
            r = np.concatenate(([1], x))
            r = x[::-1].cumsum()[::-1]  r = np.array([x[0] * 2, y[1]])                          r = x[:2] == (1, 0)
            p, q = x[:2]                r = np.hstack((x, y[:1]))   r = np.vstack((A[0], B[0]))
            r = x[:3] * [1, 2, 3]       w[:2] = [1, 0]              r = x[[0, -1]]              r = A[[0, -1]]
            r = A[i0, [0, -1]]          A[[0, -1], j0] = 1          r = A[[[0], [-1]], [0, 1]]  r = [x[0], y[0]] + z[:2]
            r = np.where(m, x, z)       r = np.concatenate([x, z])  r = np.stack([x, z])        r = np.array([x, y])
            w[k] = z                    r = A @ Z.T                 r = np.dot(x, z)            w[:] = z
            r = x.tolist()              r = x[::-1].item(0)         r = A.item(i0, j0)          r = A.transpose(1, 0)
            r = A.T {op} B.T            r = A.T {op} {n}            r = x.astype(x.dtype)       r = A.strides
            r = x[None]                 r = A[..., j0]              r = x[:, None]              r = T[0, 0]
        biuf
            r = x.astype('f4')          r = x.astype(int)           r = np.sort(x)              r = np.argsort(x)
            r = np.maximum(x, y)        w[x > 1] = y[x > 1]         r = np.flatnonzero(x > y)
            r = np.maximum(x[:2], [1, 0])
            r = np.maximum(x, z)        r = np.minimum(Z, A[0])     r = np.sqrt(abs(z))         r = x.astype(z.dtype)
            r = np.where(x)[0]          r = np.tile(x, (3, 1)).T    r = np.bitwise_and((1, 0), k[:2])
        iufc
            r = np.diff(x)              r = np.cumsum(x)            r = np.broadcast_to(x, (3, len(x))) + 1
        f
            r = np.clip(x, 1, y)        r = np.median(x)            r = np.allclose(x, y)
            r = np.interp(x, [0, 2], [1, 0])
    """),
    "time steps": (6, """
        fc
            for _ in range({steps}):
                v[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
                x[1:-1] = (v[:-2] + v[1:-1] + v[2:]) / 3

            for _ in range({steps}):
                C[1:-1, 1:-1] = (A[1:-1, 1:-1] + A[:-2, 1:-1] + A[2:, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:]) * 0.2
                A, C = C, A

            for _ in range({steps}):
                A[1:-1, 1:-1] += 0.1 * (A[:-2, 1:-1] + A[2:, 1:-1] - 2 * A[1:-1, 1:-1])

            for _ in range({steps}):
                p = (T[2:, 1:-1, 1:-1] - 2 * T[1:-1, 1:-1, 1:-1] + T[:-2, 1:-1, 1:-1]) / 3
                q = (T[1:-1, 2:, 1:-1] - 2 * T[1:-1, 1:-1, 1:-1] + T[1:-1, :-2, 1:-1]) / 3
                U[1:-1, 1:-1, 1:-1] = T[1:-1, 1:-1, 1:-1] + 0.1 * (p + q)
                T, U = U, T

            for _ in range({steps}):
                v = 0.5 * x + 0.5 * y
                x = v - 0.01 * (x - y)

            for _ in range({steps}):
                x = x * 0.99 + y * 0.01

            for _ in range({steps}):
                p = A * B
                A += 0.01 * p - 0.005 * A
                B -= 0.01 * p
        biu
            for _ in range({steps}):
                v[1:-1] = x[:-2] | x[2:]
                x[1:-1] = v[:-2] & v[2:]
    """),
    "until it converges": (5, """
        f
            p = x.copy()
            for t in range(8):
                q = 0.5 * (p + y)
                if abs(q - p).max() < 1e-3:
                    break
                p = q

            p = x.copy()
            t = 0
            while np.linalg.norm(p - y) > 1e-3 and t < 8:
                p += 0.4 * (y - p)
                t += 1

            p = x.copy()
            r = 1.0
            while r > 1e-2:
                p = 0.7 * p + 0.3 * y
                r = float(((p - y) ** 2).mean())
        biuc
            t = 0
            while t < 5 and (x == y).any():
                t += 1
    """),
    "tables": (4, """
        biufc
            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i, j] = C[i - 1, j]

            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i, j] = C[i - 1, j - 1] + (A[i, j] == B[i, j])

            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i][j] = C[i - 1][j] + A[i][j]
        biuf
            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i, j] = max(C[i - 1, j], C[i, j - 1])

            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i, j] = min(C[i - 1, j], C[i, j - 1], C[i - 1, j - 1]) + 1

            for i in range(1, {few}):
                for j in range(1, {fewer}):
                    C[i, j] = C[i - 1, j] if A[i, j] > B[i, j] else C[i, j - 1]
    """),
    "bits": (4, """
        biufc
            t = 0xFFFF
            for b in h[:{few}]:
                t ^= int(b)
                for _ in range(4):
                    t = (t >> 1) ^ 0xA001 if t & 1 else t >> 1

            t = 0xFFFF
            for b in h[:{few}]:
                for _ in range(4):
                    t = (t >> 1) ^ 0xA001 if (t & 1) ^ (b & 1) else t >> 1
                    b >>= 1

            r = (h >> 4) | ((h & 15) << 4)

            r = h ^ (h << 1)
            r = r & (r >> 2)

            r = np.unpackbits(h)

            r = (h & 1).sum()

            for i in range({turns}):
                h[i] ^= h[i - 1] & 0x0F
    """),
    "sparse rows": (5, """
        biufc
            for i in range({turns}):
                w[i] = x[ends[i]:ends[i + 1]].sum()

            for i in range({turns}):
                w[i] = x[ends[i]:ends[i + 1]] @ y[k[ends[i]:ends[i + 1]]]

            for i in range({turns}):
                r = x[ends[i]:ends[i + 1]] {op} {n}

            for i in range({turns}):
                w[k[ends[i]:ends[i + 1]]] {op}= x[ends[i]:ends[i + 1]]
    """),
}

# Four of one shape a line.
VIEWS = """
    x, y, v, w                      x[{p}:{q}], y[{p}:{q}], v[{q0}:], w[:{q1}]
    x[1:], x[:-1], y[1:], y[:-1]    x[2:], x[1:-1], x[:-2], y[1:-1]
    x[::2], y[::2], v[::2], w[::2]  x[::-1], y, v[::-1], w
    A, B, C, A                      A[{i}], B[{i}], C[0], A[-1]
    A[:; {j}], B[:; {j}], C[:; 0], B[:; -1]
    A.T, B.T, C.T, A.T              A[1:-1; 1:-1], A[:-2; 1:-1], A[2:; 1:-1], C[1:-1; 2:]
    A[1:], A[:-1], B[1:], C[:-1]    A[:; 1:], A[:; :-1], B[:; 1:], C[:; :-1]
    A[:; ::2], B[:; ::2], C[:; ::2], A[:; ::2]
    T, U, T, U                      T[1:-1; 1:-1; 1:-1], T[2:; 1:-1; 1:-1], T[1:-1; :-2; 1:-1], U[1:-1; 1:-1; 2:]
    A, A[0], B, A[:; {j}:{j1}]      A, A[:; :1], B, B[:1]
    x, z, v, w                      A, Z, C, A
    x[1:], z[:-1], y[1:], z[1:]     A[:; 1:], Z[:; :-1], Z[:; 1:], B[:; 1:]
"""
OPERATORS = {"b": "& | ^ == !=", "i": "+ - * + - * // % & | ^ >> < <= == /", "u": "+ - * + - * // % & | ^ >> < <= == /",
             "f": "+ - * + - * / < > <= == **", "c": "+ - * * / =="}
UNARY = {"b": "~{}  np.logical_not({})", "i": "-{}  abs({})  ~{}  np.square({})  np.sign({})  np.sqrt(abs({}))",
         "u": "-{}  abs({})  ~{}  np.square({})  np.sign({})  np.sqrt(abs({}))",
         "c": "-{}  {}.conj()  np.square({})  np.exp({})",
         "f": "-{}  abs({})  np.sqrt(abs({}))  np.exp(-abs({}))  np.sin({})  np.tanh({})  np.floor({})  np.square({})  "
              "np.log(abs({}) + 1)  np.sign({})  np.maximum({}, 0)  np.round({})"}
BESIDE = {"b": "True  False  s  np.bool_(True)", "i": "2  3  1  7  s  s  np.int64(3)  np.uint8(5)  True  0.5",
          "u": "2  3  1  7  s  s  np.int64(3)  np.uint8(5)  True  0.5",
          "f": "2.0  0.5  3  1.5  -1  s  s  np.float64(0.75)  np.float32(1.5)  np.int64(2)  True",
          "c": "2.0  0.5  3  1.5  -1  s  s  np.float64(0.75)  np.complex64(1j)  True"}
ELEMENTS = "x[{i}]  y[{i}]  x[i0]  A[{r}, {j}]  A[i0, j0]  x[-1]  A[i0][j0]  x[k[0]]"


def texts_of(table):
    """The texts of a class with their kinds of types."""
    kinds, text = "", []
    for line in table.split("\n"):
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent == 8:
            yield from _parted(kinds, text)
            kinds, text = line.strip(), []
        else:
            text.append(line[12:])
    yield from _parted(kinds, text)


def _parted(kinds, lines):
    """A program of several lines each, or, where a line has gaps, a table of statements."""
    for text in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        gaps = any("  " in line.strip() for line in text.split("\n"))
        for one in re.split(r"\n|\s{2,}", text) if gaps else [text]:
            if one.strip():
                yield kinds, one.rstrip()


TEXTS = {name: (largest, list(texts_of(table))) for name, (largest, table) in CLASSES.items()}


@dataclass(frozen=True)
class Program:
    """Lines over names, and what these are: `shape` of the matrices, `solid` of the arrays with three axes."""

    seed: int
    kind: str
    dtype: str
    size: int
    shape: tuple
    solid: tuple
    statement: str
    reads: bool             # its result is read, as a program would that prints it

    def __str__(self):
        lines = re.sub(r"\n\s*", "; ", self.statement)
        return f"{lines}  [{self.dtype}, {self.size:,}{', read' if self.reads else ''}]"


class Draw(string.Formatter):
    """Fills in what stands in braces."""

    def __init__(self, rng, dtype, size, shape):
        self.rng, self.size, self.shape = rng, size, shape
        self.kind = "b" if dtype == "?" else dtype[0]
        self.views = self.family()

    def one(self, some):
        return some[self.rng.integers(len(some))]

    def below(self, n):
        return int(self.rng.integers(max(n, 1)))

    def family(self):
        """Views of one shape."""
        lines = [line for part in VIEWS.strip().split("\n") for line in re.split(r"\s{2,}", part.strip())]
        p, q = sorted(self.rng.integers(0, self.size + 1, 2).tolist())
        j = self.below(self.shape[1])
        text = self.one(lines).format(p=p, q=q, q0=self.size - (q - p), q1=q - p, i=self.below(self.shape[0]), j=j,
                                      j1=j + 1)
        return [view.strip().replace(";", ",") for view in text.split(", ")]

    def get_field(self, name, args, kwargs):
        counts = {"turns": min(TURNS, self.size), "rows": min(TURNS, self.shape[0]), "least": min(TURNS, *self.shape),
                  "columns": min(TURNS, self.shape[1]), "few": min(9, self.shape[0]), "fewer": min(9, self.shape[1])}
        if name in counts:
            value = counts[name]
        elif name in ("a", "b", "c"):
            value = self.views["abc".index(name)]
        elif name == "un":
            value = self.one(UNARY[self.kind].split("  ")).replace("{}", self.views[0])
        else:
            value = getattr(self, f"draw_{name}")()
        return value, name

    def draw_steps(self):
        return 2 + self.below(10)

    def draw_i(self):
        return self.below(self.size)

    def draw_j(self):
        return self.below(self.shape[1])

    def draw_n(self):
        return self.one(BESIDE[self.kind].split("  "))

    def draw_e(self):
        return self.one(ELEMENTS.split("  ")).format(i=self.draw_i(), j=self.draw_j(), r=self.below(self.shape[0]))

    def draw_q(self):
        return self.draw_e() if self.rng.random() < 0.6 else self.draw_n()

    def draw_op(self):
        return self.one("&|^" if self.kind == "b" else "+-*")

    def draw_bin(self):
        return self.one(OPERATORS[self.kind].split())

    def draw_chain(self):
        """Of two to eight operations."""
        text = self.views[0]
        for _ in range(2 + self.below(7)):
            if self.rng.random() < 0.25:
                text = self.one(UNARY[self.kind].split("  ")).replace("{}", f"({text})")
            else:
                other = self.one(self.views) if self.rng.random() < 0.7 else self.draw_q()
                left, right = (text, other) if self.rng.random() < 0.8 else (other, text)
                text = f"({left} {self.draw_op()} {right})"
        return text


def program(seed):
    """The program of a seed."""
    rng = numpy.random.default_rng([seed, 1])
    kind = list(TEXTS)[rng.integers(len(TEXTS))]
    largest, texts = TEXTS[kind]
    dtype = TYPES[rng.integers(len(TYPES))]
    fitting = [text for kinds, text in texts if (dtype[0] if dtype != "?" else "b") in kinds]
    if not fitting:
        dtype, fitting = "f8", [text for kinds, text in texts if "f" in kinds]
    size = max(int(round(10 ** rng.uniform(0, largest))), 4)
    rows = max(int(round(10 ** rng.uniform(0, math.log10(size)))), 1)
    shape = rows, max(size // rows, 1)
    draw = Draw(rng, dtype, size, shape)
    statement = draw.format(fitting[rng.integers(len(fitting))])
    return Program(seed, kind, dtype, size, shape, solid_of(size), statement, bool(rng.random() < 0.3))


def solid_of(size):
    """Lengths of three axes with so many elements, about."""
    side = max(int(round(size ** (1 / 3))), 1)
    return side, side, max(size // side ** 2, 1)


def values(p):
    """What the names of a program are, of NumPy's."""
    rng = numpy.random.default_rng([p.seed, 3])
    some = rng.random(4001)

    def array(*shape, dtype=p.dtype):
        a = numpy.resize(numpy.roll(some, int(rng.integers(4001))), math.prod(shape)).reshape(shape)
        if dtype == "?":
            return a > 0.5
        if dtype[0] in "iu":
            return (a * 9).astype(dtype)
        return ((a + 1j * a[::-1]) if dtype[0] == "c" else a + 0.5).astype(dtype)

    n = p.size
    names = {name: array(n) for name in "xyvw"} | {name: array(*p.shape) for name in "ABC"}
    other = TYPES[rng.integers(len(TYPES))]
    names |= {name: array(*p.solid) for name in "TU"} | {"s": array(1)[0], "h": (array(n).real * 100).astype("u1")}
    names |= {"z": array(n, dtype=other), "Z": array(*p.shape, dtype=other)}         # of another type than the rest
    names["k"] = numpy.resize(rng.integers(0, n, 5000), n)
    names["m"] = numpy.resize(some > 0.5, n)
    names["ends"] = numpy.sort(rng.integers(0, n + 1, min(n, 5000) + 1))
    names |= {"N": array(n), "Q": array(*p.shape), "K": names["k"][:9].copy(), "P": names["m"].copy()}
    rows, columns = p.shape
    names |= {"R": rng.integers(0, rows, rows), "J": rng.integers(0, columns, rows),
              "L": rng.integers(0, columns, min(columns, 5)), "D": numpy.resize(names["m"], p.shape)}
    names |= {"S": numpy.resize(some > 0.5, rows), "I": names["R"].copy(), "M": numpy.resize(some > 0.5, rows)}
    names["i0"], names["j0"] = (int(rng.integers(length)) for length in p.shape)
    return {name: value for name, value in names.items() if re.search(rf"\b{name}\b", p.statement)}
