"""The gradients of recurrent layers: back through time, step by step for the states, at once for all the rest.

The gradient that arrives at a gate is that of the state behind it, times a factor that is known for all steps before
the way back begins.
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
    i, f, new, o = recurrent.lstm_gates(z + np.matmul(before_h, weight.T))
    shown = np.tanh(cs)
    into_c = o * (1 - shown * shown)
    factor = np.concatenate([new * i * (1 - i), before_c * f * (1 - f), i * (1 - new * new), shown * o * (1 - o)], -1)
    found, of_h, later_h, later_c = [], [], 0, 0
    for k in reversed(range(len(hs))):
        gh = g_hs[k] + later_h
        of_h.append(gh)
        gm = gh if projection is None else np.matmul(gh, projection)
        gc = g_cs[k] + later_c + gm * into_c[k]
        found.append(np.concatenate([gc, gc, gc, gm], -1) * factor[k])
        later_h, later_c = np.matmul(found[-1], weight), gc * f[k]
    gz = _back(found)
    of_projection = None if projection is None else _weight(_back(of_h), o * shown)
    return gz, later_h, later_c, _weight(gz, before_h), of_projection


def _of_gru_steps(g, z, h, weight, bias, ans):
    before = _before(h, ans)
    hidden = np.matmul(before, weight.T) + bias
    r, u, new = recurrent.gru_gates(z, hidden)
    into_new = (1 - u) * (1 - new * new)
    into_r = into_new * recurrent.gates_of(hidden, 3)[2] * r * (1 - r)
    into_u = (before - new) * u * (1 - u)
    factor = np.concatenate([into_r, into_u, into_new * r], -1)
    of_h, found, later = [], [], 0
    for k in reversed(range(len(ans))):
        of_h.append(g[k] + later)
        found.append(np.concatenate([of_h[-1]] * 3, -1) * factor[k])
        later = of_h[-1] * u[k] + np.matmul(found[-1], weight)
    g_hidden = _back(found)
    size = 2 * h.shape[-1]
    gz = np.concatenate([g_hidden[..., :size], _back(of_h) * into_new], -1)
    return gz, later, _weight(g_hidden, before), np.sum(_rows(g_hidden), axis=0)


gradients_of(recurrent.rnn_steps, joint=_of_rnn_steps)
gradients_of(recurrent.lstm_steps, joint=_of_lstm_steps)
gradients_of(recurrent.gru_steps, joint=_of_gru_steps)
