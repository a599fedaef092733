"""The workflow without Snakemake: what a configuration asks for, and whether it is sound."""
