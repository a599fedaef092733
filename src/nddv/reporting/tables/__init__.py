"""The tables of the report, each a function of data frames and facts."""
