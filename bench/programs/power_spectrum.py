"""Welch's estimate of a power spectrum: windowed segments that overlap; the strongest peaks."""
import numpy as np

SMALL, BENCH = 4096, 2000000


def welch(signal, rate, segment):
    window = np.hanning(segment)
    scale = 1 / (rate * (window ** 2).sum())
    total = np.zeros(segment // 2 + 1)
    count = 0
    for start in range(0, len(signal) - segment + 1, segment // 2):
        part = signal[start:start + segment]
        part = (part - part.mean()) * window
        total += np.abs(np.fft.rfft(part)) ** 2
        count += 1
    return np.fft.rfftfreq(segment, 1 / rate), scale * total / count


def main(size):
    rate = 1000.0
    t = np.arange(size) / rate
    noise = np.sin(12.9898 * np.arange(size)) * 43758.5453 % 1.0 - 0.5
    signal = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 120 * t + 1) + noise
    frequency, power = welch(signal, rate, 1024)
    peaks = np.flatnonzero((power[1:-1] > power[:-2]) & (power[1:-1] > power[2:])) + 1
    strongest = peaks[np.argsort(power[peaks])[::-1][:2]]
    return power, np.sort(frequency[strongest]), 10 * np.log10(power[strongest])
