"""Tables of users: `files` reads CSV and Parquet, `encoding` turns columns into numbers.

`summaries` tells what a column is like, from all entries at once or chunk by chunk. `chunks` and
`streaming` do with tables larger than memory what `files` and `encoding` do with others.

The command line and the data sets of a configuration both use this package, so a table means the
same to both. An option of the command line (``--drop``) is a key of a data set's entry (``drop``).
"""
