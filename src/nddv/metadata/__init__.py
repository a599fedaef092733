"""What the project says of itself in the formats of others, written from its registries.

CodeMeta, Zenodo, Croissant, RO-Crate, the page of the configuration and that of reproducibility:
``python -m nddv.metadata`` writes them all, from the files that it describes.
"""
