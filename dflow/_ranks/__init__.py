"""Processes that sum arrays with each other, the ranks of a group: what they send, how sums are added, what it takes.

Knows no network: who uses it carries letters from one rank to another.
"""
