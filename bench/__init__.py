"""The benchmarks of dflow: ``python -m bench --list`` names them, NOTES.md says how they measure."""
import dflow  # noqa: F401  (before NumPy, whose BLAS then lets its threads sleep soon: dflow would run beside them)
