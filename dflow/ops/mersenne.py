"""States in the form of NumPy's older interface: the words of a Mersenne Twister, and what it has left of a pair.

So np.random.get_state() serves what keeps such states, or hands them to a RandomState. The state of a stream of ours
lies in the first words, behind a mark; the others are random, for who draws from it as NumPy does.
"""

import ast
import hashlib
import zlib

import numpy

MARK = numpy.frombuffer(b"dflow\0", numpy.uint16).astype(numpy.uint32) | 0xDF100000
WORDS = 624
HEAD = len(MARK) + 1                        # and the number of bytes
LONGEST = 256                               # integers of a seed, so that it has place


def mersenne(state, legacy):
    """A stream's state, a dictionary of integers, texts and tuples, in NumPy's form: a tuple, or with legacy=False a
    dictionary, whose words are an array of NumPy's."""
    data = zlib.compress(repr(state).encode(), 9)
    if len(data) > 4 * (WORDS - HEAD):
        raise ValueError(f"a state of {len(data)} bytes has no place in {WORDS} words: seed with fewer integers")
    key = numpy.random.Generator(numpy.random.PCG64(list(data))).integers(1 << 32, size=WORDS, dtype=numpy.uint32)
    key[:HEAD] = *MARK, len(data)
    key.view(numpy.uint8)[4 * HEAD:4 * HEAD + len(data)] = numpy.frombuffer(data, numpy.uint8)
    if legacy:
        return "MT19937", key, WORDS, 0, 0.0
    return {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS}, "has_gauss": 0, "gauss": 0.0}


def stream_of(state):
    """The state of a stream, from NumPy's form of it; or a seed made from that, where it is a RandomState's own.

    Errors are those of RandomState.set_state().
    """
    older = numpy.random.RandomState(0)
    older.set_state(state)
    _, key, position, *left = older.get_state()
    if position == WORDS and (key[:len(MARK)] == MARK).all():
        try:
            return ast.literal_eval(zlib.decompress(key[HEAD:].tobytes()[:key[HEAD - 1]]).decode())
        except (zlib.error, ValueError, SyntaxError):
            raise ValueError("the words of the state are not those of a stream: some were changed") from None
    digest = hashlib.sha256(key.tobytes() + repr((position, *left)).encode()).digest()
    return numpy.random.SeedSequence(int.from_bytes(digest))


def short(entropy):
    """A seed of integers; of very many, a number made from them."""
    if not isinstance(entropy, list) or len(entropy) <= LONGEST:
        return entropy
    return int.from_bytes(hashlib.sha256(repr(entropy).encode()).digest())
