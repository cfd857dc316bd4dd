"""The benchmarks of dflow: ``python -m bench --list`` names them, NOTES.md says how they measure."""
