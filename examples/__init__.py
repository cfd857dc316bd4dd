"""Programs as one writes them for NumPy: the same file runs with NumPy and with dflow. See README.md."""

import dflow  # before NumPy, so that the threads of its OpenBLAS do not spin
