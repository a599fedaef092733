"""Tables in files: `files` reads CSV and Parquet, `encoding` turns their columns into numbers.

The command line and the data sets of a configuration both come through here, so that a table means
the same to both. The options of the command line (``--drop``) are keys of a data set's entry
(``drop``) there.
"""
