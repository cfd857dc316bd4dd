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


class _Standard(ArrayDataset):
    """Pairs of an image, uint8 of shape (height, width, channels), and its label, int32.

    root: the folder of the files, by default where MXNet keeps them: $MXNET_HOME/datasets/ and the set's name, with
    ~/.mxnet for $MXNET_HOME. train: the training or the test set. FileNotFoundError says which files go where.
    """

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
    __doc__ = f"Handwritten digits, 28 by 28, 1 channel, 10 classes: {_Standard.__doc__}"
    _name, _source = "mnist", "http://yann.lecun.com/exdb/mnist"

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
    __doc__ = f"Articles of clothing, 28 by 28, 1 channel, 10 classes: {_Standard.__doc__}"
    _name, _source = "fashion-mnist", "https://github.com/zalandoresearch/fashion-mnist"


class CIFAR10(_Standard):
    __doc__ = f"Photographs, 32 by 32, 3 channels, 10 classes: {_Standard.__doc__}"
    _name, _source = "cifar10", "https://www.cs.toronto.edu/~kriz/cifar.html"
    _archive, _folder = "cifar-10-binary.tar.gz", "cifar-10-batches-bin"
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
    __doc__ = f"Photographs, 32 by 32, 3 channels, 20 classes, or 100 if `fine_label`: {_Standard.__doc__}"
    _name = "cifar100"
    _archive, _folder = "cifar-100-binary.tar.gz", "cifar-100-binary"
    _files = ["train.bin"], ["test.bin"]
    _labels = 2

    def __init__(self, root=None, fine_label=False, train=True, transform=None):
        self._label = int(fine_label)
        super().__init__(root, train, transform)


class ImageFolderDataset(Dataset):
    """Pairs of an image file and the number of the folder, below `root`, that it is in.

    An image is uint8 of shape (height, width, 3), or (height, width, 1) with flag=0: grey. Pillow reads it when the
    sample is asked for. `synsets` has the folders' names, in order; `items` pairs of a path and a label.
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
