"""Data sets of images, read from the files that their makers offer; nothing is downloaded."""

import gzip
import math
import os
import tarfile
import warnings
from pathlib import Path

import numpy

from dflow.gluon._missing import missing
from dflow.gluon.data.batchify import as_array
from dflow.gluon.data.dataset import ArrayDataset, Dataset
from dflow.gluon.data.vision import _pillow
from dflow.ops.files import CHUNK, reading, up_to

__all__ = ["CIFAR10", "CIFAR100", "FashionMNIST", "ImageFolderDataset", "MNIST"]

__getattr__ = missing(__name__, "ImageListDataset ImageRecordDataset")


def __dir__():
    return sorted(__all__)


def _no_transform(transform):
    if transform is not None:
        raise TypeError("transform= is gone: use dataset.transform() or dataset.transform_first()")


# What the standard sets have in common.
_DOC = """{what}

Samples are pairs of an image, an array of uint8 of shape (height, width, channels), and its label, a number of int32.
The files are read when the data set is made; nothing is downloaded, unlike in MXNet.

Parameters
----------
root : str, optional
    The folder of the files, by default where MXNet keeps them: $MXNET_HOME/datasets/{name}, with ~/.mxnet for
    $MXNET_HOME.
{more}train : bool
    The training set, or the test set.
transform : None
    What MXNet had once: transform() and transform_first() are methods.

Raises
------
FileNotFoundError
    For a file that is not there: it says which goes where.
ValueError
    For a file that is no such file, or not whole.
TypeError
    For a transform.

Examples
--------
{example}
"""

_ABSENT = """>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     gluon.data.vision.{kind}(folder)
Traceback (most recent call last):
    ...
FileNotFoundError: {kind} needs the file {file}, of {source}, in the folder ..."""


class _Standard(ArrayDataset):
    """Pairs of an image and its label, of files in a folder; see _DOC."""

    _name = _source = ""

    def __init__(self, root=None, train=True, transform=None):
        _no_transform(transform)
        if root is None:
            root = os.path.join(os.environ.get("MXNET_HOME", "~/.mxnet"), "datasets", self._name)
        self._root = os.path.expanduser(root)
        images, labels = self._read(train)
        with reading(self._root):
            super().__init__(as_array(images), as_array(labels.astype(numpy.int32)))

    def _read(self, train):
        """Its images and labels, NumPy's arrays of uint8."""
        raise NotImplementedError

    def _path(self, *names):
        """The first of these files that is there."""
        for name in names:
            path = os.path.join(self._root, name)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(f"{type(self).__name__} needs the file {names[0]}, of {self._source}, in the folder "
                                f"{self._root}: dflow downloads nothing, please put it there")


class MNIST(_Standard):
    _name, _source = "mnist", "http://yann.lecun.com/exdb/mnist"
    __doc__ = _DOC.format(
        what="Handwritten digits: 28 by 28 pixels, 1 channel, 10 classes, in 60,000 and 10,000 samples.",
        name=_name, more="", example=""">>> import os, tempfile
>>> def write(folder, name, *head):
...     with open(os.path.join(folder, name), "wb") as file:
...         file.write(numpy.array(head, ">u4").tobytes() + bytes(int(numpy.prod(head[1:]))))
>>> with tempfile.TemporaryDirectory() as folder:
...     write(folder, "train-images-idx3-ubyte", 0x803, 5, 28, 28)
...     write(folder, "train-labels-idx1-ubyte", 0x801, 5)
...     digits = gluon.data.vision.MNIST(folder)
>>> image, label = digits[4]
>>> print(len(digits), image.shape, image.dtype, label.dtype)
5 (28, 28, 1) uint8 int32""")

    def _read(self, train):
        kind = "train" if train else "t10k"
        return self._idx(f"{kind}-images-idx3-ubyte", 3)[..., None], self._idx(f"{kind}-labels-idx1-ubyte", 1)

    def _idx(self, name, ndim):
        """The array of a file in the IDX format, as it is or compressed: magic number, lengths, bytes."""
        path = self._path(f"{name}.gz", name)
        wrong = ValueError(f"{path} is no complete IDX file of {ndim} axes of bytes")
        with reading(path), (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            magic, *shape = numpy.frombuffer(file.read(4 + 4 * ndim).ljust(4 + 4 * ndim, b"\0"), ">u4").tolist()
            if magic != 0x0800 + ndim:
                raise wrong
            data = up_to(file, math.prod(shape) + 1)
            if len(data) != math.prod(shape):
                raise wrong
            return numpy.frombuffer(data, numpy.uint8).reshape(shape)


class FashionMNIST(MNIST):
    _name, _source = "fashion-mnist", "https://github.com/zalandoresearch/fashion-mnist"
    __doc__ = _DOC.format(
        what="Articles of clothing: 28 by 28 pixels, 1 channel, 10 classes, in files as MNIST's.", name=_name, more="",
        example=_ABSENT.format(kind="FashionMNIST", file="train-images-idx3-ubyte.gz", source=_source))


class CIFAR10(_Standard):
    _name, _source = "cifar10", "https://www.cs.toronto.edu/~kriz/cifar.html"
    _archive, _folder = "cifar-10-binary.tar.gz", "cifar-10-batches-bin"
    __doc__ = _DOC.format(
        what="Photographs: 32 by 32 pixels, 3 channels, 10 classes, of the archive, or of its files.", name=_name,
        more="", example=_ABSENT.format(kind="CIFAR10", file=_archive, source=_source))
    _files = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]
    _labels, _label = 1, 0      # how many bytes before each image, which of them is the label

    def _read(self, train):
        rows = numpy.concatenate([self._rows(name) for name in self._files[not train]])
        images = rows[:, self._labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return numpy.ascontiguousarray(images), rows[:, self._label]

    def _rows(self, name):
        """A file, as it is, unpacked with its folder, or in the archive: a row for each image."""
        inside = f"{self._folder}/{name}"
        path = self._path(self._archive, name, inside)
        with reading(path):
            data = self._inside(path, inside) if path.endswith(self._archive) else Path(path).read_bytes()
        length = self._labels + 3 * 32 * 32
        if not data or len(data) % length:
            raise ValueError(f"{name} in {self._root} is no file of {type(self).__name__}: its rows have {length} "
                             f"bytes, the file has {len(data)}")
        return numpy.frombuffer(data, numpy.uint8).reshape(-1, length)

    def _inside(self, path, name):
        """The bytes of a file in an archive, which is read from front to back: no length in it is believed."""
        found = None
        with gzip.open(path) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as archive:
                for member in archive:
                    if member.name == name and member.isfile():
                        found = up_to(archive.extractfile(member), member.size)
            while stream.read(CHUNK):           # at its end is the checksum
                pass
        if found is None:
            raise ValueError(f"there is no file {name} in the archive")
        return found


class CIFAR100(CIFAR10):
    _name = "cifar100"
    _archive, _folder = "cifar-100-binary.tar.gz", "cifar-100-binary"
    __doc__ = _DOC.format(
        what="Photographs: 32 by 32 pixels, 3 channels, 20 classes, or 100, of the archive, or of its files.",
        name=_name, more="fine_label : bool\n    The 100 classes, and not the 20 that they are grouped in.\n",
        example=_ABSENT.format(kind="CIFAR100", file=_archive, source=CIFAR10._source))
    _files = ["train.bin"], ["test.bin"]
    _labels = 2

    def __init__(self, root=None, fine_label=False, train=True, transform=None):
        self._label = int(fine_label)
        super().__init__(root, train, transform)


class ImageFolderDataset(Dataset):
    """Images in folders: pairs of an image and the number of the folder that it is in.

    An image is an array of uint8 of shape (height, width, 3), or (height, width, 1). Pillow reads it when the sample is
    asked for, upright, as its orientation says. Files are .jpg, .jpeg and .png; what else is there is left out, with a
    warning. `synsets` has the folders' names, in order; `items` has pairs of a path and a label.

    Parameters
    ----------
    root : str
        The folder that has a folder for each class.
    flag : {0, 1}
        1: of three channels; 0: grey, of one.
    transform : None
        What MXNet had once: transform() and transform_first() are methods.

    Raises
    ------
    TypeError
        For a transform.
    FileNotFoundError
        For a root that is not there.
    ImportError
        When a sample is asked for, without Pillow.
    ValueError, OSError
        When a sample is asked for, of a file that is no image, or of more pixels than its size allows.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("cat/a.png", "cat/b.jpg", "dog/c.png"):
    ...         os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
    ...         open(f"{root}/{name}", "wb").close()
    ...     images = gluon.data.vision.ImageFolderDataset(root)
    >>> print(len(images), images.synsets, [label for path, label in images.items])
    3 ['cat', 'dog'] [0, 0, 1]
    """

    _extensions = (".jpg", ".jpeg", ".png")

    def __init__(self, root, flag=1, transform=None):
        _no_transform(transform)
        self._flag = flag
        self.synsets = []
        self.items = []
        root = os.path.expanduser(root)
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"Ignoring {path}, which is not a directory.", stacklevel=2)
                continue
            self._add(path)
            self.synsets.append(folder)

    def _add(self, folder):
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name.lower().endswith(self._extensions):
                self.items.append((path, len(self.synsets)))
            else:
                warnings.warn(f"Ignoring {path}. Only {', '.join(self._extensions)} are read.", stacklevel=3)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        path, label = self.items[idx]
        return _pillow.read(path, self._flag), label
