"""Training runs that are repeated backwards: derivatives by the weights of the training points.

:mod:`~nddv.replay.engine` is the replay, of the flow of NDDV and of any torch module;
:mod:`~nddv.replay.optimizers` has the optimiser steps with their pullbacks.
"""
