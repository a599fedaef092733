"""The estimator: settings, checks of input, folds, and several fits at once."""
