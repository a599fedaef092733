"""Figures: each a function from data frames to a matplotlib ``Figure``."""
