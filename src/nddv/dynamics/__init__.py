"""The method: a controlled mean-field flow, its adjoint, and the readouts that turn it into values.

kernels -> layers -> flow, costs -> adjoint -> reweighting, population -> training -> utility,
participation -> reading: each module uses only those before it. `readouts` is the registry of
readouts, `choices` has the names that settings may take.
"""
