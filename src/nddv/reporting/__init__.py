"""Reporting: tables and figures for people, made from the files of earlier stages only."""
