"""Data sets, samplers and loaders of batches, as mxnet.gluon.data."""

from dflow.gluon._missing import missing
from dflow.gluon.data import batchify, dataloader, dataset, sampler, vision
from dflow.gluon.data.dataloader import DataLoader
from dflow.gluon.data.dataset import ArrayDataset, Dataset, SimpleDataset
from dflow.gluon.data.sampler import (
    BatchSampler,
    FilterSampler,
    IntervalSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SplitSampler,
)

__all__ = ["ArrayDataset", "BatchSampler", "DataLoader", "Dataset", "FilterSampler", "IntervalSampler",
           "RandomSampler", "Sampler", "SequentialSampler", "SimpleDataset", "SplitSampler", "batchify", "dataloader",
           "dataset", "sampler", "vision"]

__getattr__ = missing(__name__, "RecordFileDataset")


def __dir__():
    return sorted(__all__)
