"""Data sets of images, and transforms of them, as mxnet.gluon.data.vision."""

from dflow.gluon._missing import missing
from dflow.gluon.data.vision import datasets, transforms
from dflow.gluon.data.vision.datasets import CIFAR10, CIFAR100, MNIST, FashionMNIST, ImageFolderDataset

__all__ = ["CIFAR10", "CIFAR100", "FashionMNIST", "ImageFolderDataset", "MNIST", "datasets", "transforms"]

__getattr__ = missing(__name__, "ImageListDataset ImageRecordDataset")


def __dir__():
    return sorted(__all__)
