"""Evaluation: detection, curation, groups. It reads values and the truth, and knows no method."""
