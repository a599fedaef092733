"""NDDV and its problems inside other frameworks.

- ``nddv.integrations.opendataval``: OpenDataVal's evaluators on our problems, and NDDV as one of
  them. Importing it imports OpenDataVal.
- ``nddv.integrations.cleanlab``: cleanlab's scores of labels on our problems.
"""
