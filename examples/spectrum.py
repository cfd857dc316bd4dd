"""Which rhythms an electroencephalogram has, and when: Morlet wavelets of many frequencies, by Fourier transforms."""

import matplotlib.image
import numpy as np
from matplotlib import cbook

SMALL, FULL = 12, 300       # frequencies

RATE = 80.0                 # samples a second: 800 in ten seconds, of four electrodes
BANDS = {"delta": (0.5, 4), "theta": (4, 8), "alpha": (8, 13), "beta": (13, 30)}


def main(n):
    recorded = np.fromfile(cbook.get_sample_data("eeg.dat", asfileobj=False)).reshape(800, 4).T
    signal = recorded - recorded.mean(axis=1, keepdims=True)
    length = 2 * signal.shape[1]                                # with as many zeros, so that the ends do not meet
    frequencies = np.geomspace(1, RATE / 2.5, n)
    omega = np.fft.fftfreq(length, 1 / RATE)
    cycles = 6.0
    wavelets = 2 * np.exp(-(((omega / frequencies[:, np.newaxis] - 1) * cycles) ** 2) / 2) * (omega > 0)
    spectrum = np.fft.fft(signal, length)
    waves = np.fft.ifft(spectrum[:, np.newaxis, :] * wavelets)[..., :signal.shape[1]]
    power = waves.real ** 2 + waves.imag ** 2                   # (electrode, frequency, time)
    window = np.hanning(256)
    pieces = np.stack([signal[:, i:i + 256] for i in range(0, 545, 32)], axis=1) * window
    welch = np.mean(np.abs(np.fft.rfft(pieces)) ** 2, axis=1) / (RATE * np.sum(window ** 2))
    at = np.fft.rfftfreq(256, 1 / RATE)
    bands = np.stack([welch[:, (at >= low) & (at < high)].sum(axis=1) for low, high in BANDS.values()], axis=1)
    return {"picture": np.log10(1e-9 + power.mean(axis=0))[::-1], "power": power, "density": welch,
            "bands": bands / bands.sum(axis=1, keepdims=True),
            "loudest": frequencies[power.mean(axis=2).argmax(axis=1)]}


if __name__ == "__main__":
    results = main(FULL)
    print("share of the power in", *BANDS)
    print(results["bands"].round(3))
    print("loudest frequency of each electrode, Hz:", results["loudest"].round(2))
    matplotlib.image.imsave("spectrum.png", results["picture"], cmap="viridis")
