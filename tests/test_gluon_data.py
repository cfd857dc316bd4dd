"""gluon.data: samplers, data sets, loaders and their threads, what makes batches, images and their transforms."""

import colorsys
import gc
import gzip
import itertools
import subprocess
import sys
import tarfile
import textwrap
import threading

import numpy
import pytest
from engines import HANG, Gate, clean_environment, poll
from scipy import ndimage

import dflow.numpy as np
from dflow import gluon, image
from dflow.gluon import data
from dflow.gluon.data import batchify
from dflow.gluon.data.vision import transforms

pytestmark = pytest.mark.once            # see pyproject.toml

RNG = numpy.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (20, 30, 3), numpy.uint8)


def loaders():
    """The threads that load batches, now."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("dflow-loader")]


def listed(batches):
    """Batches of arrays, or of lists of arrays, as lists of numbers."""
    return [[x.tolist() for x in batch] if isinstance(batch, list) else batch.tolist() for batch in batches]


# ---- samplers


@pytest.mark.parametrize("sampler, expected", [
    (data.SequentialSampler(3), [0, 1, 2]),
    (data.SequentialSampler(3, 5), [5, 6, 7]),
    (data.IntervalSampler(13, 3), [0, 3, 6, 9, 12, 1, 4, 7, 10, 2, 5, 8, 11]),
    (data.IntervalSampler(13, 3, rollover=False), [0, 3, 6, 9, 12]),
    (data.FilterSampler(lambda x: x > 4, [7, 1, 5, 2]), [0, 2]),
    (data.BatchSampler(data.SequentialSampler(5), 2), [[0, 1], [2, 3], [4]]),
    (data.BatchSampler(data.SequentialSampler(5), 2, "discard"), [[0, 1], [2, 3]]),
])
def test_samplers(sampler, expected):
    assert list(sampler) == list(sampler) == expected
    assert len(sampler) == len(expected)


def test_rollover_begins_the_next_epoch():
    sampler = data.BatchSampler(data.SequentialSampler(5), 3, "rollover")
    assert len(sampler) == 1 and list(sampler) == [[0, 1, 2]]
    assert len(sampler) == 2 and list(sampler) == [[3, 4, 0], [1, 2, 3]]
    assert list(sampler) == [[4, 0, 1], [2, 3, 4]]


def test_seeds_decide_shuffling():
    np.random.seed(3)
    first, second = list(data.RandomSampler(100)), list(data.RandomSampler(100))
    assert first != second and sorted(first) == sorted(second) == list(range(100))
    np.random.seed(3)
    assert list(data.RandomSampler(100)) == first


@pytest.mark.parametrize("make", [
    lambda: data.BatchSampler(data.SequentialSampler(3), 2, "drop"),
    lambda: data.BatchSampler(data.SequentialSampler(3), 0),
    lambda: data.IntervalSampler(3, 4),
    lambda: data.ArrayDataset(),
    lambda: data.ArrayDataset([1], [1, 2]),
    lambda: data.SimpleDataset([1, 2]).shard(2, 2),
    lambda: data.DataLoader([1]),
    lambda: data.DataLoader([1], 1, shuffle=True, sampler=data.SequentialSampler(1)),
    lambda: data.DataLoader([1], 1, batch_sampler=[[0]]),
    lambda: data.DataLoader([1], 1, timeout=0),
])
def test_bad_arguments(make):
    with pytest.raises(ValueError):
        make()


# ---- data sets


def test_parts_of_data_sets():
    ten = data.SimpleDataset(list(range(10)))
    assert [list(ten.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert list(ten.take(3)) == [0, 1, 2] and len(ten.take(None)) == len(ten.take(11)) == 10
    assert list(ten.filter(lambda x: x % 4 == 1)) == [1, 5, 9]
    assert list(ten.sample(data.IntervalSampler(10, 5)).take(4)) == [0, 5, 1, 6]
    with pytest.raises(TypeError, match="Sampler"):
        ten.sample([1, 2])


def test_transformed_data_sets():
    calls = []
    pairs = data.ArrayDataset([1, 2, 3], [10, 20, 30])
    lazy = pairs.transform(lambda x, y: calls.append(x) or x + y)
    assert not calls and lazy[1] == 22 and calls == [2]
    assert list(pairs.transform(lambda x, y: x + y, lazy=False)) == [11, 22, 33]
    assert list(pairs.transform_first(lambda x: -x)) == [(-1, 10), (-2, 20), (-3, 30)]
    assert list(data.SimpleDataset([1, 2]).transform_first(lambda x: -x)) == [-1, -2]


# ---- batches


@pytest.mark.parametrize("samples, dtype", [
    ([1, 2], "int64"), ([1.5, 2], "float64"), (numpy.ones((2, 3), "float32"), "float32"), ([[1, 2], [3, 4]], "int64"),
    ([True, False], "bool"), (np.ones((2, 2), "uint8"), "uint8"),
])
def test_batches_keep_their_dtype(samples, dtype):
    batch = data.dataloader.default_batchify_fn(list(samples))
    assert type(batch) is np.ndarray and batch.dtype == dtype
    numpy.testing.assert_array_equal(batch, numpy.array(samples))


def test_stack_goes_into_tuples():
    images, (numbers, names) = batchify.Stack()([(IMAGE, (1, [2.0])), (IMAGE, (3, [4.0]))])
    assert images.shape == (2, *IMAGE.shape) and images.dtype == numpy.uint8
    assert numbers.tolist() == [1, 3] and listed(names) == [[2.0, 4.0]]


def test_pad():
    assert batchify.Pad()([[1, 2, 3], [4], []]).tolist() == [[1, 2, 3], [4, 0, 0], [0, 0, 0]]
    padded = batchify.Pad(-1, "float32", round_to=4)([numpy.ones((1, 2)), numpy.zeros((3, 5))])
    assert padded.shape == (2, 4, 8) and padded.dtype == numpy.float32
    expected = numpy.full((4, 8), -1)
    expected[:1, :2] = 1
    numpy.testing.assert_array_equal(padded[0], expected)
    with pytest.raises(TypeError, match="Group"):
        batchify.Pad()([(1, 2)])


def test_groups_of_ways():
    group = batchify.Group(batchify.Pad(), batchify.Stack(), batchify.AsList(), batchify.Append())
    padded, stacked, texts, apart = group([([1, 2], 3, "a", [1.0]), ([1], 4, "b", [2.0, 3.0])])
    assert (padded.tolist(), stacked.tolist(), texts) == ([[1, 2], [1, 0]], [3, 4], ["a", "b"])
    assert listed(apart) == [[[1.0]], [[2.0, 3.0]]]
    assert listed(batchify.Group([batchify.Stack()])([[1], [2]])) == [[1, 2]]
    with pytest.raises(ValueError, match="2 elements, not 4"):
        group([(1, 2)])
    with pytest.raises(TypeError):
        batchify.Group(3)


# ---- loaders


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("last_batch, sizes", [("keep", [4, 4, 2]), ("discard", [4, 4]), ("rollover", [4, 4])])
def test_loader(workers, last_batch, sizes):
    x, y = RNG.random((10, 2)), RNG.integers(0, 9, 10)
    loader = data.DataLoader(data.ArrayDataset(x, y), 4, last_batch=last_batch, num_workers=workers)
    assert len(loader) == len(sizes)
    batches = list(loader)
    assert [len(labels) for _, labels in batches] == sizes
    numpy.testing.assert_array_equal(numpy.concatenate([rows.asnumpy() for rows, _ in batches]), x[:sum(sizes)])
    assert sum((labels.tolist() for _, labels in batches), []) == y[:sum(sizes)].tolist()


def test_the_same_batches_for_any_number_of_workers():
    images = numpy.stack([IMAGE] * 20)
    jitter = transforms.Compose([transforms.RandomResizedCrop(8), transforms.RandomFlipLeftRight(),
                                 transforms.RandomColorJitter(0.5, 0.5, 0.5, 0.5)])
    dataset = data.ArrayDataset(images, numpy.arange(20)).transform_first(jitter)
    found = []
    for workers in (0, 1, 4):
        np.random.seed(5)
        loader = data.DataLoader(dataset, 3, shuffle=True, num_workers=workers)
        found.append([listed(epoch) for epoch in (loader, loader)])
    assert found[0] == found[1] == found[2]
    assert found[0][0] != found[0][1]


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_of_anything_with_elements(workers):
    for source in (np.arange(5), numpy.arange(5), list(range(5)), data.SimpleDataset(np.arange(5)),
                   data.ArrayDataset(np.arange(10)).filter(lambda x: x < 5)):
        batches = list(data.DataLoader(source, 2, num_workers=workers))
        assert listed(batches) == [[0, 1], [2, 3], [4]] and all(type(x) is np.ndarray for x in batches)
    assert list(data.DataLoader([], 2, num_workers=workers)) == []
    assert listed(data.DataLoader(range(5), batch_sampler=[(4, 0), [2]], num_workers=workers)) == [[4, 0], [2]]
    pairs = data.ArrayDataset(data.ArrayDataset([1, 2], np.array([3, 4])), numpy.array([5, 6])).take(2)
    [[inner, last]] = data.DataLoader(pairs, 2, num_workers=workers)
    assert (listed(inner), last.tolist()) == ([[1, 2], [3, 4]], [5, 6])


def test_arrays_are_gathered_as_their_samples_would_be_stacked():
    dataset = data.ArrayDataset(RNG.random((9, 2)), np.arange(9), RNG.integers(0, 2, 9).astype(bool)).shard(2, 0)
    sampler = data.BatchSampler(data.RandomSampler(len(dataset)), 2)
    np.random.seed(1)
    gathered = list(data.DataLoader(dataset, batch_sampler=sampler))
    np.random.seed(1)
    stacked = list(data.DataLoader(dataset, batch_sampler=sampler, batchify_fn=lambda rows: batchify.Stack()(rows)))
    assert listed(gathered) == listed(stacked)
    assert [[x.dtype for x in batch] for batch in gathered] == [[x.dtype for x in batch] for batch in stacked]


class Halved(transforms.ToTensor):
    def forward(self, x):
        assert x.ndim == 3                      # it knows of no batches
        return super().forward(x) / 2


@pytest.mark.parametrize("transform, images", [
    (transforms.ToTensor(), [IMAGE] * 5),
    (transforms.Compose([transforms.ToTensor(), transforms.Normalize((1, 2, 3), 4)]), [IMAGE] * 5),
    (Halved(), [IMAGE] * 5), (transforms.Compose([Halved()]), [IMAGE] * 5),
    (transforms.Cast(), [IMAGE[0]] * 5), (transforms.ToTensor(), [[IMAGE, IMAGE]] * 5),
])
def test_batches_are_transformed_as_their_samples_would_be(transform, images):
    images, labels = RNG.permutation(numpy.array(images), axis=-2), numpy.arange(5)
    for dataset in (data.SimpleDataset(images).transform(transform),
                    data.ArrayDataset(images, labels).transform_first(transform),
                    data.ArrayDataset(images, labels).transform(transform)):
        at_once = data.DataLoader(dataset, 3)
        one_by_one = data.DataLoader(dataset, 3, batchify_fn=lambda rows: batchify.Stack()(rows))
        for found, expected in zip(at_once, one_by_one, strict=True):
            if not isinstance(found, list):
                found, expected = [found], [expected]
            for x, y in zip(found, expected, strict=True):
                assert x.dtype == y.dtype
                numpy.testing.assert_array_equal(x, y)


def test_images_without_channels_are_refused_in_batches_too():
    with pytest.raises(ValueError, match="3 axes") as caught:
        list(data.DataLoader(data.SimpleDataset(numpy.stack([IMAGE[..., 0]] * 4)).transform(transforms.ToTensor()), 2))
    assert caught.value.__notes__ == ["of the sample at index 0"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_does_not_wait_for_its_arrays(workers):
    with Gate() as gate:
        held = gate.hold(np.arange(6.0))
        dataset = data.ArrayDataset(held, held * 2)
        batches = [*data.DataLoader(dataset, 3, num_workers=workers),
                   *data.DataLoader(dataset.transform_first(np.sqrt), 3, num_workers=workers)]
        assert not any(x.is_ready() for batch in batches for x in batch)
        gate.open()
        assert listed(batches)[1] == [[3, 4, 5], [6, 8, 10]]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_errors_come_in_place_of_their_batch(workers):
    def risky(x):
        if x == 5:
            raise RuntimeError("no such thing")
        return x

    batches = iter(data.DataLoader(data.SimpleDataset(list(range(12))).transform(risky), 2, num_workers=workers))
    assert listed(itertools.islice(batches, 2)) == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="no such thing") as caught:
        next(batches)
    assert caught.value.__notes__ == ["of the sample at index 5"]
    assert list(batches) == [] and poll(lambda: not loaders())


@pytest.mark.parametrize("workers", [0, 2])
def test_indices_out_of_range(workers):
    for source in (np.arange(3), [1, 2, 3]):
        with pytest.raises(IndexError) as caught:
            list(data.DataLoader(source, batch_sampler=[[0, 3]], num_workers=workers))
        assert caught.value.__notes__ == ["of the sample at index 3"]


def test_workers_load_side_by_side():
    meeting = threading.Barrier(3)
    dataset = data.SimpleDataset(list(range(6))).transform(lambda x: meeting.wait(HANG) and x or x)
    assert listed(data.DataLoader(dataset, 1, num_workers=3)) == [[i] for i in range(6)]


def test_several_iterators_at_once():
    loader = data.DataLoader(np.arange(6), 2, num_workers=2)
    assert [(a.tolist(), b.tolist()) for a, b in zip(loader, loader)] == [([i, i + 1],) * 2 for i in (0, 2, 4)]


@pytest.mark.parametrize("prefetch, ahead", [(0, 1), (1, 2), (5, 6), (None, 5)])
def test_prefetching_is_bounded(prefetch, ahead):
    asked = []

    class Sampler(data.Sampler):
        def __iter__(self):
            for i in range(100):
                asked.append(i)
                yield [i]

    batches = iter(data.DataLoader(range(100), batch_sampler=Sampler(), num_workers=2, prefetch=prefetch))
    for i in range(3):
        assert next(batches).tolist() == [i] and len(asked) == i + ahead
    batches.close()


def test_a_batch_that_takes_too_long():
    with Gate() as gate:
        slow = data.SimpleDataset([0, 1]).transform(lambda x: gate.opened.wait(HANG))
        with pytest.raises(TimeoutError, match="more than 0.01 seconds"):
            list(data.DataLoader(slow, 1, num_workers=1, timeout=0.01))

    def own(x):
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        list(data.DataLoader(data.SimpleDataset([0]).transform(own), 1, num_workers=1))


def _close(batches):
    batches.close()


def _forget(batches):
    pass


def _throw(batches):
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt)


@pytest.mark.parametrize("leave", [_close, _forget, _throw])
def test_no_thread_outlives_its_iteration(leave):
    assert poll(lambda: not loaders())      # those of the test before have nothing to do, but may not be gone
    with Gate() as gate:                # one batch is given, others are there or being loaded, and many are to come
        dataset = data.SimpleDataset(list(range(1000))).transform(lambda x: x < 3 or gate.opened.wait(HANG))
        batches = iter(data.DataLoader(dataset, 1, num_workers=3))
        next(batches)
        assert len(loaders()) == 3
        leave(batches)
        del batches
        gc.collect()
    assert poll(lambda: not loaders())


def test_exit_in_the_middle_of_an_epoch():
    program = """
        import dflow.numpy as np
        from dflow.gluon import data

        dataset = data.ArrayDataset(np.arange(10_000.0)).transform(lambda x: x + 1)
        batches = iter(data.DataLoader(dataset, 10, num_workers=3))
        print(next(batches).sum().item())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True,
                          timeout=HANG, env=clean_environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, "55.0\n", "")


# ---- transforms of images


def seeded(transform, image=IMAGE, seed=7):
    np.random.seed(seed)
    return transform(image).asnumpy()


def drawn(*range_, seed=7):
    np.random.seed(seed)
    return np.random.uniform(*range_)


def test_tensors():
    tensor = transforms.ToTensor()(IMAGE)
    assert tensor.dtype == numpy.float32
    numpy.testing.assert_array_equal(tensor, (IMAGE.astype("float32") / 255).transpose(2, 0, 1))
    numpy.testing.assert_array_equal(transforms.ToTensor()(IMAGE[None])[0], tensor)
    mean, std = numpy.float32([0.1, 0.2, 0.3]), numpy.float32([1, 2, 3])
    expected = (tensor.asnumpy() - mean[:, None, None]) / std[:, None, None]
    numpy.testing.assert_array_equal(transforms.Normalize(tuple(mean), tuple(std))(tensor), expected)
    numpy.testing.assert_array_equal(transforms.Normalize(0.5, 2)(tensor), (tensor.asnumpy() - numpy.float32(0.5)) / 2)
    with pytest.raises(ValueError, match="3 axes"):
        transforms.ToTensor()(IMAGE[0])


def test_labels_pass_through():
    image, label = transforms.Resize(4)(IMAGE, 3)
    assert image.shape == (4, 4, 3) and label == 3
    both = transforms.Compose([transforms.Resize(4), lambda image, label: (image, label + 1), transforms.ToTensor()])
    image, label = both(IMAGE, 3)
    assert image.shape == (3, 4, 4) and label == 4 and len(both) == 3 and isinstance(both[0], transforms.Resize)
    assert transforms.Cast("float16")(IMAGE).dtype == numpy.float16
    assert [x.dtype.name for x in transforms.Cast()(IMAGE, numpy.arange(2))] == ["float32", "float32"]


@pytest.mark.parametrize("size", [(30, 20), (45, 60), (7, 33), (1, 1), (31, 20)])
def test_bilinear_resizing(size):
    """Like an interpolation at the centres of the new pixels."""
    places = [numpy.clip((numpy.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
              for new, old in zip(size[::-1], IMAGE.shape)]
    grid = numpy.meshgrid(*places, indexing="ij")
    pixels = IMAGE.astype(float)
    expected = numpy.stack([ndimage.map_coordinates(pixels[..., c], grid, order=1) for c in range(3)], axis=-1)
    numpy.testing.assert_allclose(transforms.Resize(size)(IMAGE.astype("float32")), expected, atol=1e-3)
    resized = transforms.Resize(size)(np.array(IMAGE))
    assert resized.dtype == numpy.uint8
    numpy.testing.assert_allclose(resized, expected, atol=0.501)
    numpy.testing.assert_array_equal(transforms.Resize(size)(np.stack([IMAGE, IMAGE]))[1], resized)


def test_sizes():
    nearest = transforms.Resize((15, 40), interpolation=0)(IMAGE)
    numpy.testing.assert_array_equal(nearest, IMAGE[:, ::2].repeat(2, axis=0))
    assert transforms.Resize(10, keep_ratio=True)(IMAGE).shape == (10, 15, 3)
    assert transforms.Resize(10, keep_ratio=True)(IMAGE.swapaxes(0, 1)).shape == (15, 10, 3)
    numpy.testing.assert_array_equal(transforms.CropResize(3, 5, 10, 7)(IMAGE), IMAGE[5:12, 3:13])
    assert transforms.CropResize(3, 5, 10, 7, (4, 2))(IMAGE).shape == (2, 4, 3)
    numpy.testing.assert_array_equal(transforms.CenterCrop((10, 8))(IMAGE), IMAGE[6:14, 10:20])
    assert transforms.CenterCrop((40, 40))(IMAGE).shape == (40, 40, 3)
    with pytest.raises(ValueError, match="nearest"):
        transforms.Resize(10, interpolation=5)(IMAGE)
    with pytest.raises(ValueError, match="no part"):
        transforms.CropResize(25, 5, 10, 7)(IMAGE)
    with pytest.raises(ValueError, match="positive"):
        transforms.CenterCrop((0, 4))


def windows(image, height, width):
    views = numpy.lib.stride_tricks.sliding_window_view(image, (height, width), axis=(0, 1))
    return views.transpose(0, 1, 3, 4, 2).reshape(-1, height, width, image.shape[2])


def test_random_crops():
    found = [seeded(transforms.RandomCrop((10, 8)), seed=seed) for seed in range(5)]
    assert all((windows(IMAGE, 8, 10) == crop).all(axis=(1, 2, 3)).any() for crop in found)
    assert len({crop.tobytes() for crop in found}) > 1
    padded = numpy.pad(IMAGE, ((2, 2), (2, 2), (0, 0)), constant_values=9)
    crop = seeded(transforms.RandomCrop((33, 23), pad=2, pad_value=9))
    assert (windows(padded, 23, 33) == crop).all(axis=(1, 2, 3)).any()
    assert transforms.RandomCrop((50, 10))(IMAGE).shape == (10, 50, 3)


def test_random_resized_crops():
    whole = transforms.RandomResizedCrop((30, 20), scale=(1, 1), ratio=(1.5, 1.5))
    numpy.testing.assert_array_equal(seeded(whole), IMAGE)
    impossible = transforms.RandomResizedCrop((20, 20), scale=(1, 1), ratio=(9, 9))     # so the middle is taken
    numpy.testing.assert_array_equal(seeded(impossible), IMAGE[:, 5:25])
    some = transforms.RandomResizedCrop(16)
    assert seeded(some).shape == (16, 16, 3) and (seeded(some, seed=1) != seeded(some, seed=2)).any()


@pytest.mark.parametrize("flip, axis", [(transforms.RandomFlipLeftRight, 1), (transforms.RandomFlipTopBottom, 0)])
def test_flips(flip, axis):
    flipped = numpy.flip(IMAGE, axis)
    numpy.testing.assert_array_equal(flip(p=0)(IMAGE), IMAGE)
    numpy.testing.assert_array_equal(flip(p=1)(IMAGE), flipped)
    np.random.seed(0)
    count = sum((flip()(IMAGE).asnumpy() == flipped).all() for _ in range(100))
    assert 30 < count < 70


def grey(image):
    return image @ numpy.array([0.299, 0.587, 0.114])


COLOURS = {
    transforms.RandomBrightness: lambda x, f: x * f,
    transforms.RandomContrast: lambda x, f: grey(x).mean() + f * (x - grey(x).mean()),
    transforms.RandomSaturation: lambda x, f: grey(x)[..., None] + f * (x - grey(x)[..., None]),
    transforms.RandomHue: lambda x, f: numpy.apply_along_axis(turned, -1, x / 255, f) * 255,
}


def turned(pixel, factor):
    hue, lightness, saturation = colorsys.rgb_to_hls(*pixel)
    return colorsys.hls_to_rgb((hue + factor) % 1, lightness, saturation)


@pytest.mark.parametrize("kind", COLOURS)
def test_colours(kind):
    expected = numpy.clip(COLOURS[kind](IMAGE.astype(float), drawn(0.6, 1.4)), 0, 255)
    found = seeded(kind(0.4))
    assert found.dtype == numpy.uint8 and (found != IMAGE).any()
    numpy.testing.assert_allclose(found, expected, atol=0.51)
    numpy.testing.assert_array_equal(seeded(kind(0)), IMAGE)
    one_channel = seeded(kind(0.4), IMAGE[..., :1])
    assert one_channel.shape == (20, 30, 1)
    with pytest.raises(ValueError, match="channels"):
        kind(0.4)(IMAGE[..., :2])


def test_colour_jitter():
    numpy.testing.assert_array_equal(transforms.RandomColorJitter()(IMAGE), IMAGE)
    found = {seeded(transforms.RandomColorJitter(0.5, 0.5, 0.5, 0.5), seed=seed).tobytes() for seed in range(4)}
    assert len(found) == 4


def test_hybridized_transforms_still_draw():
    for transform in (transforms.RandomGray(0.5), transforms.Compose([transforms.RandomGray(0.5)])):
        transform.hybridize()
        assert len({seeded(transform, IMAGE, seed=seed).tobytes() for seed in range(9)}) == 2


def test_lighting_adds_one_colour():
    noise = seeded(transforms.RandomLighting(0.1), IMAGE.astype("float32")) - IMAGE
    assert numpy.ptp(noise, axis=(0, 1)).max() < 1e-4 and abs(noise).max() > 0.1


def test_tensors_that_are_turned():
    x = transforms.ToTensor()(IMAGE[:20, :20])
    for turns in (1, 2, 3):
        numpy.testing.assert_allclose(transforms.Rotate(90 * turns)(x), numpy.rot90(x, turns, (1, 2)), atol=1e-3)
    row = (numpy.arange(35, dtype="f4") * 37 % 101 - 50).reshape(1, 5, 7) / 10.7
    for arguments, expected in (                # MXNet's numbers
            ({}, [0, 0.1716, -2.5151, -1.3822, -0.4436, 1.1727, -0.255]),
            ({"zoom_in": True}, [2.0335, -0.7087, -0.8451, -2.1564, -2.594, 1.0191, 2.2394]),
            ({"zoom_out": True}, [0, 0, 0, 0.4822, -2.0145, 0, 0])):
        numpy.testing.assert_allclose(transforms.Rotate(30, **arguments)(row)[0, 0], expected, atol=1e-4)
    both = image.imrotate(src=np.stack([x, x]), rotation_degrees=[0, 90])
    numpy.testing.assert_allclose(both[1], transforms.Rotate(90)(x), atol=1e-5)
    some = transforms.RandomRotation((-40, 40))
    assert (seeded(some, x, 1) != seeded(some, x, 2)).any()
    numpy.testing.assert_array_equal(seeded(some, x, 3), transforms.Rotate(drawn_second(-40, 40, seed=3))(x))
    numpy.testing.assert_array_equal(transforms.RandomRotation((-40, 40), rotate_with_proba=0)(x), x)
    pair = some(np.stack([x, x])).asnumpy()
    assert (pair[0] != pair[1]).any()
    for make, kind in ((lambda: transforms.RandomRotation((1, -1)), ValueError),
                       (lambda: transforms.RandomRotation((-1, 1), rotate_with_proba=2), ValueError),
                       (lambda: transforms.Rotate(9, True, True)(x), ValueError),
                       (lambda: transforms.Rotate([9, 9])(x), TypeError),
                       (lambda: transforms.Rotate([9, 9])(x[None]), ValueError),
                       (lambda: transforms.Rotate(9)(IMAGE), TypeError)):
        with pytest.raises(kind):
            make()


def drawn_second(*range_, seed):
    np.random.seed(seed)
    np.random.uniform()
    return np.random.uniform(*range_)


def test_transforms_that_are_applied_at_random():
    flip = transforms.RandomFlipLeftRight(1)
    numpy.testing.assert_array_equal(transforms.RandomApply(flip, 0)(IMAGE), IMAGE)
    both = transforms.RandomApply([flip, transforms.CenterCrop(4)], 1)
    numpy.testing.assert_array_equal(both(IMAGE), IMAGE[8:12, 13:17][:, ::-1])
    assert {transforms.RandomApply(flip)(IMAGE)[0, 0, 0].item() for _ in range(20)} == {IMAGE[0, 0, 0], IMAGE[0, -1, 0]}


# ---- files


def write_idx(path, array, opener=gzip.open):
    with opener(path, "wb") as file:
        file.write(numpy.array([0x0800 + array.ndim, *array.shape], ">u4").tobytes() + array.tobytes())


@pytest.mark.parametrize("kind", [data.vision.MNIST, data.vision.FashionMNIST])
def test_mnist(kind, tmp_path, monkeypatch):
    images, labels = RNG.integers(0, 256, (5, 28, 28), numpy.uint8), RNG.integers(0, 10, 5).astype(numpy.uint8)
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte.gz.*downloads nothing"):
        kind(tmp_path)
    write_idx(tmp_path / "train-images-idx3-ubyte.gz", images)
    write_idx(tmp_path / "train-labels-idx1-ubyte", labels, open)
    dataset = kind(tmp_path)
    image, label = dataset[3]
    assert len(dataset) == 5 and image.dtype == numpy.uint8 and label.dtype == numpy.int32 and label == labels[3]
    numpy.testing.assert_array_equal(image, images[3][..., None])
    assert dataset[1:3][0].shape == (2, 28, 28, 1)
    [[batch, _]] = data.DataLoader(dataset.transform_first(transforms.ToTensor()), 5, num_workers=1)
    numpy.testing.assert_array_equal(batch[:, 0], images / numpy.float32(255))
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="t10k-images.*datasets.*mnist"):
        kind(train=False)
    write_idx(tmp_path / "t10k-images-idx3-ubyte.gz", labels)
    with pytest.raises(ValueError, match="no complete IDX file of 3 axes"):
        kind(tmp_path, train=False)


def test_cifar(tmp_path):
    rows = RNG.integers(0, 256, (10, 3073), numpy.uint8)
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for i in range(5):
        (folder / f"data_batch_{i + 1}.bin").write_bytes(rows[2 * i:2 * i + 2].tobytes())
    (folder / "test_batch.bin").write_bytes(rows[:3].tobytes())
    unpacked = data.vision.CIFAR10(tmp_path)
    with tarfile.open(tmp_path / "cifar-10-binary.tar.gz", "w:gz") as archive:
        archive.add(folder, folder.name)
    for dataset in (unpacked, data.vision.CIFAR10(tmp_path)):
        images, labels = dataset[:]
        numpy.testing.assert_array_equal(images, rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        assert labels.tolist() == rows[:, 0].tolist()
    assert len(data.vision.CIFAR10(tmp_path, train=False)) == 3
    with pytest.raises(FileNotFoundError, match="cifar-100-binary.tar.gz"):
        data.vision.CIFAR100(tmp_path)
    (tmp_path / "test.bin").write_bytes(rows.ravel()[:2 * 3074].tobytes())
    assert [data.vision.CIFAR100(tmp_path, fine, train=False)[1][1].item() for fine in (False, True)] == \
        rows.ravel()[3074:3076].tolist()
    (tmp_path / "train.bin").write_bytes(b"short")
    with pytest.raises(ValueError, match="its rows have 3074 bytes"):
        data.vision.CIFAR100(tmp_path)


def test_image_folders(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in ("cat/2.png", "cat/1.png", "dog/3.PNG", "dog/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        image.fromarray(IMAGE).save(path) if path.suffix.lower() == ".png" else path.write_text("no image")
    (tmp_path / "list.txt").write_text("no folder")
    with pytest.warns(UserWarning, match="Ignoring"):
        dataset = data.vision.ImageFolderDataset(tmp_path)
        in_grey = data.vision.ImageFolderDataset(tmp_path, flag=0)
    assert dataset.synsets == ["cat", "dog"] and len(dataset) == 3
    assert dataset.items == [(str(tmp_path / name), label) for name, label in
                             (("cat/1.png", 0), ("cat/2.png", 0), ("dog/3.PNG", 1))]
    [[images, labels]] = data.DataLoader(dataset, 3, num_workers=2)
    assert (images == IMAGE).all() and labels.tolist() == [0, 0, 1]
    assert in_grey[0][0].shape == (20, 30, 1)


def test_grey_by_chance():
    x = np.array(numpy.arange(48, dtype="uint8").reshape(4, 4, 3))
    grey, same = transforms.RandomGray(1)(x), transforms.RandomGray(0)(x)
    assert grey.dtype == same.dtype == numpy.float32 and (same == x).all()
    numpy.testing.assert_allclose(grey.asnumpy(), (x.asnumpy() @ [[0.2989], [0.587], [0.114]]) * [1, 1, 1], rtol=1e-6)
    some = transforms.HybridCompose([transforms.RandomGray(0.5)])
    assert 60 < sum((some(x) == x).all().item() for _ in range(200)) < 140
    assert transforms.HybridRandomApply is transforms.RandomApply


def test_what_mxnet_has_besides():
    for module, name in ((data, "RecordFileDataset"), (gluon.metric, "Torch")):
        with pytest.raises(AttributeError, match=f"{module.__name__}' has no attribute '{name}': MXNet has it"):
            getattr(module, name)
    with pytest.raises(AttributeError, match="'nonsense'$"):
        gluon.nonsense  # noqa: B018


@pytest.mark.parametrize("together", [batchify.Stack(), batchify.Group(batchify.Stack(), batchify.Stack())])
def test_samples_of_unequal_length_are_refused(together):
    with pytest.raises(ValueError, match="zip"):
        together([(1, 2), (1,)])
    with pytest.raises(ValueError, match="zip"):
        list(gluon.data.DataLoader([(1, [1, 2]), (2, [1])], 2))


def test_grey_is_of_three_channels():
    for p in (0, 1):
        with pytest.raises(ValueError, match="3 channels"):
            transforms.RandomGray(p)(np.ones((2, 2, 1)))
