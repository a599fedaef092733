"""What the report consists of: one entry for each table and each figure, in files of YAML."""
