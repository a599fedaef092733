"""Methods: the registry, variants of NDDV, and running a method on a problem."""
