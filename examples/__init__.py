"""Programs as one writes them for NumPy: the same file runs with NumPy and with dflow. See README.md."""
