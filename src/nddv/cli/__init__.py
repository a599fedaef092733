"""The command line: ``nddv value data.csv --target y``.

`main` is the entry point; `arguments` holds the options, `value` the command, `readouts` what the
values mean, `page` and `plots` the HTML page. Tables come through :mod:`nddv.tabular`. Torch is
imported only once a valuation really starts.
"""

from nddv.cli.app import main

__all__ = ["main"]
