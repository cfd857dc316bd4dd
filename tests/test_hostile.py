"""Files that are cut off, changed, or made to do harm: an error that names the file, nothing else. See hostile.py."""

import gzip
import io
import struct
import subprocess
import sys

import numpy
import pytest
from engines import clean_environment

pytest.importorskip("PIL")

import hostile  # noqa: E402

import dflow.numpy as np  # noqa: E402
from dflow import npx  # noqa: E402

READERS = hostile.make()
HUGE = 10 ** 15


def claims(shape, descr="<f8", version=(1, 0), data=bytes(100)):
    """An .npy file whose header says so."""
    file = io.BytesIO()
    write = numpy.lib.format.write_array_header_1_0 if version == (1, 0) else numpy.lib.format.write_array_header_2_0
    write(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


def lying(size):
    """An archive that says that its member, of 100 bytes, has `size`."""
    content = bytearray(hostile.zipped("a.npy")(claims((3,), data=bytes(24))))
    at = content.index(b"PK\1\2")
    content[at + 24:at + 28] = struct.pack("<I", size)
    return bytes(content)


def overlapping():
    """An archive that names its one member a hundred times."""
    content = hostile.zipped("a.npy")(claims((3,), data=bytes(24)))
    at, end = content.index(b"PK\1\2"), content.index(b"PK\5\6")
    last = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 100, 100, (end - at) * 100, at, 0)
    return content[:at] + content[at:end] * 100 + last


MANY = claims((HUGE,))
STATES = "num_update.npy", "0.count.npy", "0.0.npy", "0.1.npy"
PNG, BMP = map(hostile.picture, ("PNG", "BMP"))
CLAIMS = [
    *((name, MANY, rf"an array of float64 and the shape \({HUGE},\) is not in a file that has 100 bytes of it")
      for name in ("npy", "npy-open", "npy-mapped")),
    ("npy", claims((2 ** 32, 2 ** 32)), "is not in a file that has 100 bytes"),
    ("npy", claims((-1,)), r"shape \(-1,\) is not in"),
    ("npy", claims((0, 10 ** 30)), "too large|too big|is not in"),
    ("npy", claims((3, 10), version=(2, 0)), "is not in a file"),
    ("npy", b"\x93NUMPY\2\0" + struct.pack("<I", 2 ** 32 - 1), "a header of 4294967295 bytes is more than the file"),
    ("npy", b"not an array", "pickled"),
    ("npy", b"", "No data left"),
    *((name, hostile.zipped("a.npy")(MANY), f"{HUGE}.* is not in a file that has 100") for name in ("npz", "params")),
    *((name, hostile.zipped("a.npy", method=8)(MANY), "is not in a file") for name in ("npz", "params")),
    *((name, lying(2 ** 31), "a.npy cannot be 2147483648 bytes, of 152 in the archive") for name in ("npz", "params")),
    *((name, overlapping(), "members of the archive are larger than the file") for name in ("npz", "params")),
    *((name, hostile.zipped("a.npy", method=12)(MANY), "compressed in another way") for name in ("npz", "params")),
    *((name, content, f"an array .* or a file of MXNet's is expected, and the file {found}")
      for name in ("params", "parameters", "states")
      for content, found in (
          (b"", "is empty"), (b"\x80\x04K\x01.", r"begins with b'.x80.x04K.x01\.'"), (b"GIF89a", "begins.*GIF"))),
    *((name, MANY, f"{HUGE}.* is not in a file that has 100") for name in ("params", "parameters", "states")),
    ("params", claims((3,), "|O"), "Object arrays cannot be loaded"),
    ("parameters", hostile.saved(npx.save, np.ones(())), "named parameters are expected"),
    ("states", hostile.saved(npx.save, np.ones(3)), "does not have the states of Adam"),
    ("params", hostile.zipped("data.pkl")(b"\x80\x04K\x01."), "data.pkl in it is no array"),
    ("params", hostile.mxnets(numpy.ones(3, "f4"))[:-9], "the file ends too early"),
    ("params", struct.pack("<3QI2iq3i", 0x112, 0, 1, 0xF993FAC9, 0, 1, HUGE, 1, 0, 0), "the file ends too early"),
    ("params", struct.pack("<3QI2i2q3i", 0x112, 0, 1, 0xF993FAC9, 0, 2, -4, -4, 1, 0, 0), r"shape \(-4, -4\)"),
    ("params", struct.pack("<3QI2i", 0x112, 0, 1, 0xF993FAC9, 0, 2 ** 31 - 1), "2147483647 axes"),
    ("parameters", hostile.saved(npx.save, [np.ones(3)]),
     "named parameters are expected, and the file has arrays without names"),
    ("parameters", hostile.zipped("weight.npy", "bias.npy")(hostile.npy(numpy.ones(2, "f4"))),
     "weight cannot be loaded"),
    ("states", hostile.saved(npx.save, [np.ones(3)]), "does not have the states of Adam"),
    ("states", hostile.zipped(*STATES)(hostile.npy(numpy.ones(3, "f4"))), "does not have the states of Adam"),
    ("idx", gzip.compress(struct.pack(">4I", 0x803, 2 ** 31, 2 ** 31, 1) + bytes(9)), "no complete IDX file"),
    ("idx", gzip.compress(struct.pack(">4I", 0x803, 2, 3, 4) + bytes(2 ** 20)), "no complete IDX file"),
    ("idx", gzip.compress(struct.pack(">4I", 0x803, 1, 3, 4) + bytes(12)), "same length"),
    ("cifar", b"no archive", "not a|ReadError|could not be opened|file"),
    ("cifar", gzip.compress(bytes(100) + b"\x80" + b"\xff" * 411), "checksum"),
    ("image", hostile.picture("EPS"), "cannot identify"),
    ("image", PNG[:16] + struct.pack(">2I", 13_000, 13_000) + PNG[24:], "hostile"),
    ("image", BMP[:18] + struct.pack("<2i", 9_000, 9_000) + BMP[26:],
     r"an image of \(9000, 9000\) pixels is not in a file of 198 bytes"),
    ("text", b"1,2\n3,x\n", "could not convert string 'x'"),
    ("table", b"1,2\n3\n", "Some errors were detected"),
]


@pytest.mark.parametrize("name, content, text", CLAIMS, ids=[f"{name}-{text[:20]}" for name, _, text in CLAIMS])
def test_what_files_say_is_not_believed(name, content, text, tmp_path):
    error = hostile.check(READERS[name], content, str(tmp_path))        # the name of the file is checked there
    with pytest.raises(type(error), match=text):
        raise error


def test_nothing_is_unpickled(tmp_path):
    touched = hostile.saved(numpy.save, numpy.array([hostile.Touched()], object), allow_pickle=True)
    (tmp_path / "x.npy").write_bytes(touched)
    (tmp_path / "x.npz").write_bytes(hostile.zipped("a.npy")(touched))
    with pytest.raises(ValueError, match="x.npy: Object arrays cannot be loaded when allow_pickle=False"):
        np.load(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="x.npz: Object arrays"), np.load(tmp_path / "x.npz") as loaded:
        loaded["a"]
    with pytest.raises(ValueError, match="x.npz: Object arrays"):
        npx.load(tmp_path / "x.npz")
    assert np.load(tmp_path / "x.npy", allow_pickle=True).shape == (1,)


@pytest.mark.once
@pytest.mark.parametrize("name", ["npy", "npz", "params", "parameters", "states", "idx", "cifar"])
def test_files_that_are_cut_off(name, tmp_path):
    """Each is an error; but a file of MXNet's may have no names."""
    reader = READERS[name]
    for sample in {min(reader.packed, key=len), reader.packed[0]}:
        for length in range(0, len(sample), 1 + len(sample) // 100):
            assert hostile.check(reader, sample[:length], str(tmp_path)) is not None, length


def test_samples_are_read(tmp_path):
    """Or mutations of them would show little."""
    read = {name: sum(hostile.check(reader, sample, str(tmp_path)) is None for sample in reader.packed)
            for name, reader in READERS.items()}
    assert all(read.values()), read
    assert read["npy"] == len(hostile.NPYS) - 1 and read["pickle"] == len(READERS["pickle"].samples)


def test_an_open_file_has_several_arrays(tmp_path):
    """Of which each is its own size; at the end NumPy's EOFError says so."""
    with open(tmp_path / "x", "wb") as file:
        for n in range(3):
            numpy.save(file, numpy.arange(n))
    with open(tmp_path / "x", "rb") as file:
        assert [np.load(file).size for _ in range(3)] == [0, 1, 2]
        with pytest.raises(EOFError, match="x: No data left"):
            np.load(file)
    with gzip.open(tmp_path / "y", "wb") as file:
        numpy.save(file, numpy.arange(4))
    with gzip.open(tmp_path / "y") as file:                 # nobody knows how long it is
        assert np.load(file).tolist() == [0, 1, 2, 3]


@pytest.mark.slow
@pytest.mark.once
def test_mutations():
    """The same ones in each run, where memory is short."""
    done = subprocess.run([sys.executable, hostile.__file__, "60"], env=clean_environment(), capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    assert done.stdout.count("mutations") == len(READERS)


def test_a_reader_that_cannot_tell_its_place():
    class Reader:
        def __init__(self, stream):
            self.read, self.seek = stream.read, stream.seek

    stream = io.BytesIO()
    numpy.save(stream, numpy.arange(4))
    stream.seek(0)
    assert np.load(Reader(stream)).tolist() == [0, 1, 2, 3]


def test_errors_of_unpickling_stay_what_they_are(tmp_path, monkeypatch):
    """As of np.load(.npy), where they did: who allows it may wait for them."""
    numpy.savez(tmp_path / "x.npz", a=numpy.array([Missing()], object))
    monkeypatch.delitem(globals(), "Missing")
    with np.load(tmp_path / "x.npz", allow_pickle=True) as loaded, pytest.raises(AttributeError, match="Missing"):
        loaded["a"]


class Missing:
    pass
