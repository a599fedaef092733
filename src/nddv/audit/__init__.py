"""Audits: how far one-run scores are from the finite marginals of retrained coalitions."""
