"""The method: a controlled mean-field flow, its adjoint, and the readouts that turn it into values.

kernels -> layers -> flow, costs -> adjoint -> optimizers, reweighting, population -> training ->
participation -> readouts: each module uses only those before it.
"""
