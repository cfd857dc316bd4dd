"""The gradients of recurrent layers: back through time, step by step; those of weights at once for all steps.

A step's gates are computed anew, step by step too: so they, and the factors that follow from them, are in a cache.
"""

from dflow import numpy as np
from dflow.gradients.networks import gradients_of
from dflow.ops import recurrent


def _before(first, states):
    """The states that the steps begin with."""
    return np.concatenate([first[None], states[:-1]])


def _rows(x):
    return x.reshape(-1, x.shape[-1])


def _weight(g, x):
    """The gradient of a weight that x is multiplied with in each step, where g arrives."""
    return np.matmul(_rows(g).T, _rows(x))


def _back(steps):
    """Those that were found from the last step to the first, as one array."""
    return np.stack(steps[::-1])


def _of_rnn_steps(g, h, weight, activation, ans):
    factor = np.greater(ans, 0) if activation == "rnn_relu" else 1 - ans * ans
    found, later = [], 0
    for k in reversed(range(len(ans))):
        found.append((g[k] + later) * factor[k])
        later = np.matmul(found[-1], weight)
    gz = _back(found)
    return gz, later, _weight(gz, _before(h, ans))


def _of_lstm_steps(g, z, h, c, weight, projection, ans):
    hs, cs = ans
    g_hs, g_cs = (np.zeros_like(states) if part is None else part for part, states in zip(g, ans))
    before_h, before_c = _before(h, hs), _before(c, cs)
    found, of_h, shown, later_h, later_c = [], [], [], 0, 0
    for k in reversed(range(len(hs))):
        i, f, new, o = recurrent.lstm_gates(z[k] + np.matmul(before_h[k], weight.T))
        t = np.tanh(cs[k])
        gm = gh = g_hs[k] + later_h
        if projection is not None:
            gm = np.matmul(gh, projection)
            of_h.append(gh)
            shown.append(o * t)
        gc = g_cs[k] + later_c + gm * o * (1 - t * t)
        gates = gc * new * i * (1 - i), gc * before_c[k] * f * (1 - f), gc * i * (1 - new * new), gm * t * o * (1 - o)
        found.append(np.concatenate(gates, -1))
        later_h, later_c = np.matmul(found[-1], weight), gc * f
    gz = _back(found)
    of_projection = None if projection is None else _weight(_back(of_h), _back(shown))
    return gz, later_h, later_c, _weight(gz, before_h), of_projection


def _of_gru_steps(g, z, h, weight, bias, ans):
    before = _before(h, ans)
    found, of_hidden, later = [], [], 0
    for k in reversed(range(len(ans))):
        hidden = np.matmul(before[k], weight.T) + bias
        r, u, new = recurrent.gru_gates(z[k], hidden)
        gh = g[k] + later
        gn = gh * (1 - u) * (1 - new * new)
        gates = gn * recurrent.gates_of(hidden, 3)[2] * r * (1 - r), gh * (before[k] - new) * u * (1 - u)
        found.append(np.concatenate([*gates, gn], -1))
        of_hidden.append(np.concatenate([*gates, gn * r], -1))
        later = gh * u + np.matmul(of_hidden[-1], weight)
    of_hidden = _back(of_hidden)
    return _back(found), later, _weight(of_hidden, before), np.sum(_rows(of_hidden), axis=0)


gradients_of(recurrent.rnn_steps, joint=_of_rnn_steps)
gradients_of(recurrent.lstm_steps, joint=_of_lstm_steps)
gradients_of(recurrent.gru_steps, joint=_of_gru_steps)
