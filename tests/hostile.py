"""Files that are damaged, or made to do harm: what each reader takes, how it is changed, and what must come of that.

A reader returns a value, or raises one of its errors with the file's name in the text. It takes little more memory than
the file's size allows, runs no program, unpickles nothing, and leaves the file as it is.

`python tests/hostile.py 200 [READER ...]` tries so many mutations of each sample, the same ones each time, in a process
with little memory; tools/fuzz_files.py has coverage choose them.
"""

import argparse
import faulthandler
import gzip
import io
import os
import pickle
import random
import re
import resource
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy
from PIL import Image

import dflow.numpy as np
from dflow import autograd, gluon, image, npx
from dflow.gluon.data import vision

MEMORY = 512 << 20          # bytes of address space beside what the process has: far more than any sample needs
SECONDS = 20                # for one file
ERRORS = ValueError, EOFError, OSError, zipfile.BadZipFile
FORBIDDEN = """pickle.find_class subprocess.Popen os.system os.exec os.posix_spawn os.fork socket.connect""".split()
NUMBERS = [2 ** k - one for k in (1, 7, 8, 15, 16, 31, 32, 62, 63, 64) for one in (0, 1)]
TEXTS = (b"0", b"-1", b"1000000000000000", b"99999999999", b"9223372036854775808", b"(4294967296, 4294967296)",
         b"(0, 1" + b"0" * 30 + b")", b"'|O'", b"'>f8'", b"'<U9999999'", b"'|V0'", b"'M8[ns]'", b"[('a', '<f8')]",
         b"True", b"None", b"(" * 100, b"-" * 3000, b"nan", b",")


@dataclass
class Reader:
    """read(path), its errors, and samples: bytes, or pairs of them and of a function that packs them."""

    read: object
    samples: list
    name: str = "hostile"           # of the file
    errors: tuple = ERRORS
    named: bool = True              # whether the errors name the file
    allowed: tuple = ()             # of FORBIDDEN
    packed: list = field(init=False)

    def __post_init__(self):
        self.samples = [s if isinstance(s, tuple) else (s, bytes) for s in self.samples]
        self.packed = [pack(content) for content, pack in self.samples]


# -- samples ---------------------------------------------------------------------------------------


def saved(save, *args, **keywords):
    file = io.BytesIO()
    save(file, *args, **keywords)
    return file.getvalue()


def zipped(*names, method=zipfile.ZIP_STORED):
    """A function of bytes that makes an archive, with right checksums, of files that have them."""
    def pack(content):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            for name in names:
                archive.writestr(zipfile.ZipInfo(name), content, method)
        return file.getvalue()

    return pack


def tarred(content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        info = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return gzip.compress(file.getvalue(), 1)


def oldest_mxnets(x):
    """A list of one array, float32, as MXNet 0.8 and older wrote it."""
    return struct.pack(f"<3QI{x.ndim}I3i", 0x112, 0, 1, x.ndim, *x.shape, 1, 0, 0) + x.tobytes() + bytes(8)


def mxnets(*arrays):
    parts = [struct.pack("<3Q", 0x112, 0, len(arrays))]
    for x in arrays:
        parts.append(struct.pack(f"<I2i{x.ndim}q3i", 0xF993FAC9, 0, x.ndim, *x.shape, 1, 0, 0) + x.tobytes())
    names = [f"{i}.weight".encode() for i in range(len(arrays))]
    parts.append(struct.pack("<Q", len(names)))
    return b"".join(parts + [struct.pack("<Q", len(name)) + name for name in names])


def picture(form, **keywords):
    pixels = numpy.arange(6 * 7 * 3, dtype="u1").reshape(6, 7, 3)
    return saved(Image.fromarray(pixels).save, form, **keywords)


def long_chunk():
    """An image whose one part of pixels says that it goes on for gigabytes, behind the last pixel."""
    png = picture("PNG")
    return png[:33] + struct.pack(">I", 2 ** 31 - 1) + png[37:]


def network():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    return net


def exported(net):
    """The text of a program."""
    with tempfile.TemporaryDirectory() as folder:
        files = net.export(f"{folder}/net", inputs=np.ones((1, 3), "f4"))
        return Path(files[0]).read_bytes()


def trainer():
    p = gluon.Parameter("p", shape=(3,))
    p.initialize()
    made = gluon.Trainer([p], "adam")
    with autograd.record():
        loss = (p.data() ** 2).sum()
    loss.backward()
    made.step(1)
    return made


def written(write):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x")
        write(path)
        return Path(path).read_bytes()


def npy(x, version=None):
    return saved(lambda file: numpy.lib.format.write_array(file, x, version))


class Touched:
    """An object whose pickle runs code."""

    def __reduce__(self):
        return os.getpid, ()


FLOATS, INTS = numpy.arange(6.0).reshape(2, 3), numpy.arange(5, dtype=">i2")
NPYS = [npy(FLOATS), npy(FLOATS.T), npy(INTS), npy(numpy.array(3.5), (2, 0)), npy(numpy.zeros((0, 3), "f4"), (3, 0)),
        npy(numpy.array([1, 0], bool)), npy(numpy.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])),
        npy(numpy.array(["ab", "c"])), saved(numpy.save, numpy.array([Touched()], object), allow_pickle=True)]


# -- readers ---------------------------------------------------------------------------------------


def read_npz(path):
    with np.load(path) as loaded:
        return {name: loaded[name] for name in loaded.files}


def read_open(path):
    with open(path, "rb") as file:
        return np.load(file)


def read_bytes(path):
    """From memory, where the file's name is unknown: it only must not crash."""
    try:
        return np.load(io.BytesIO(path.read_bytes()))
    except ERRORS as error:
        raise type(error)(path.name) from error


class Known(pickle.Unpickler):
    """Unpickles what the samples are made of, nothing else: pickles may run any code, by design."""

    def find_class(self, module, name):
        if (module, name) not in CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return super().find_class(module, name)


def read_pickle(path):
    x = Known(io.BytesIO(path.read_bytes())).load()
    return x.tolist() if hasattr(x, "asnumpy") else x


def classes_in(data):
    """The classes and functions that a pickle names."""
    found = set()

    class Noting(pickle.Unpickler):
        def find_class(self, module, name):
            found.add((module, name))
            return super().find_class(module, name)

    Noting(io.BytesIO(data)).load()
    return found


def read_mnist(path):
    labels = path.with_name("train-labels-idx1-ubyte")
    labels.write_bytes(struct.pack(">2I", 0x801, 2) + b"\1\2")
    return vision.MNIST(path.parent)


def make():
    """The readers, by name."""
    net = network()
    pickles = [pickle.dumps(x, protocol) for protocol in (2, 4, 5)
               for x in (np.arange(6.0).reshape(2, 3), np.array(3), np.random.default_rng(0), np.random.RandomState(0))]
    CLASSES.update(*map(classes_in, pickles))
    idx = struct.pack(">4I", 0x803, 2, 3, 4) + bytes(24)
    row = 1 + 3 * 32 * 32
    return {
        "npy": Reader(np.load, NPYS),
        "npy-open": Reader(read_open, NPYS),
        "npy-bytes": Reader(read_bytes, NPYS),
        "npy-mapped": Reader(lambda path: np.load(path, mmap_mode="r+"), NPYS),
        "npz": Reader(read_npz, [saved(numpy.savez, a=FLOATS, b=INTS), saved(numpy.savez_compressed, a=FLOATS)] + [
            (x, zipped("a.npy", "b", method=method)) for x in NPYS for method in (0, 8, 12, 14)]),
        "text": Reader(lambda path: np.loadtxt(path, delimiter=","), [b"1,2\n3,4\n", b"# x\n1e9,nan\n"]),
        "table": Reader(lambda path: np.genfromtxt(path, delimiter=","), [b"1,2\n3,4\n", b"# x\n1e9,nan\n"]),
        "numbers": Reader(lambda path: np.fromfile(path, "f8"), [bytes(32)]),
        "params": Reader(npx.load, [
            saved(npx.save, {"a": np.ones(3)}), saved(npx.save, [np.ones(3)]), mxnets(numpy.ones((2, 3), "f4")),
            oldest_mxnets(numpy.ones((2, 3), "f4")),
            mxnets(numpy.lib.stride_tricks.as_strided(numpy.ones(0, "f4"), (0, 2 ** 57), (0, 0))),
            *NPYS, *((x, zipped("a.npy")) for x in NPYS)], errors=(ValueError,)),
        "parameters": Reader(net.load_parameters, [
            written(net.save_parameters), mxnets(numpy.ones((2, 3), "f4"), numpy.ones(2, "f4")),
            (npy(numpy.ones((2, 3), "f4")), zipped("weight.npy", "bias.npy"))], errors=(ValueError, TypeError)),
        "program": Reader(lambda path: gluon.SymbolBlock.imports(path, "data"), [exported(net)],
                          name="net-symbol.json", errors=(ValueError,)),
        "states": Reader(lambda path: trainer().load_states(path), [
            written(trainer().save_states),
            (npy(numpy.array(1)), zipped("num_update.npy", "0.count.npy", "0.0.npy", "0.1.npy"))],
            errors=(ValueError,)),
        "image": Reader(image.imread, [
            *map(picture, ("PNG", "JPEG", "BMP", "GIF", "TIFF", "PPM", "WEBP", "EPS")),
            picture("TIFF", compression="tiff_lzw"), picture("PNG", optimize=True), long_chunk()],
            errors=(ValueError, OSError)),
        "idx": Reader(read_mnist, [(idx, gzip.compress)], name="train-images-idx3-ubyte.gz", errors=(ValueError,)),
        "cifar": Reader(lambda path: vision.CIFAR10(path.parent, train=False), [(bytes(2 * row), tarred)],
                        name="cifar-10-binary.tar.gz", errors=(ValueError,)),
        "pickle": Reader(read_pickle, pickles, errors=(Exception,), named=False, allowed=("pickle.find_class",)),
    }


CLASSES = set()


# -- mutations -------------------------------------------------------------------------------------


def mutate(choose, data, other):
    """The bytes with some damage; `other`: bytes of another sample."""
    data = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 5))):
        at = choose.randrange(len(data) + 1)
        length = min(choose.choice((1, 2, 4, 8, 30)), len(data) - at)
        kind = choose.randrange(8)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at:at + length]
        elif kind == 2:
            data[at:at] = data[at:at + length] * choose.choice((1, 2, 1000))
        elif kind == 3 and length:
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 4:
            width = choose.choice((1, 2, 4, 8))
            number = (choose.choice(NUMBERS) + choose.choice((-1, 0, 0, 0, 1))) % 256 ** width
            data[at:at + width] = number.to_bytes(width, choose.choice(("little", "big")))
        elif kind == 5:
            start = choose.randrange(len(other) + 1)
            data[at:at + length] = other[start:start + choose.choice((4, 30, 300))]
        elif kind == 6:
            data[at:at + length] = choose.choice(TEXTS)
        else:
            places = list(re.finditer(rb"\d+|'[^']*'|True|False", bytes(data[:300])))
            if places:
                place = choose.choice(places)
                data[place.start():place.end()] = choose.choice(TEXTS)
    return bytes(data)


def mutation(choose, reader):
    """Bytes of a hostile file: a sample is changed before it is packed, or behind that, or both."""
    (content, pack), other = choose.choice(reader.samples), choose.choice(reader.samples)[0]
    if choose.random() < 0.6:
        content = mutate(choose, content, other)
        if choose.random() < 0.8:
            return pack(content)
    return mutate(choose, pack(content), other)


# -- what must come of it --------------------------------------------------------------------------

events = []                 # audit events that no reader may cause


def watch():
    """Note forbidden events from now on, and let no file have more memory than MEMORY."""
    sys.addaudithook(lambda event, args: events.append(event) if event in FORBIDDEN else None)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY,) * 2)


def check(reader, data, folder):
    """AssertionError, or what was raised, unless the reader does with these bytes what it may. Returns the error."""
    path = Path(folder, reader.name)
    path.write_bytes(data)
    events.clear()
    found = None
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        reader.read(path)
    except reader.errors as error:
        names = path.name, folder               # data sets are several files
        assert not reader.named or any(name in str(error) for name in names), f"{error!r} does not name the file"
        found = error
    faulthandler.cancel_dump_traceback_later()
    assert path.stat().st_size == len(data), f"the file has {path.stat().st_size} bytes, not {len(data)}"
    assert not set(events) - set(reader.allowed), f"reading it does {events}"
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("mutations", type=int, help="of each reader")
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    readers = make()
    watch()
    for name in arguments.readers or readers:
        reader, choose, read = readers[name], random.Random(f"{arguments.seed} {name}"), 0
        with tempfile.TemporaryDirectory() as folder:
            for sample in reader.packed:
                check(reader, sample, folder)
            for number in range(arguments.mutations):
                data = mutation(choose, reader)
                try:
                    read += check(reader, data, folder) is None
                except BaseException:
                    print(f"{name}, mutation {number}: zlib.decompress({zlib.compress(data)!r})", file=sys.stderr)
                    raise
        print(f"{name}: {arguments.mutations} mutations, {read} of them read", flush=True)


if __name__ == "__main__":
    main()
