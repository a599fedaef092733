"""Evaluation: what values are good for. Reads values and the truth; knows no method."""
