"""The command line: ``nddv value data.csv --target y``.

`main` is the entry point; `arguments` holds the options, `value` the command, `inputs` what it
reads (`features` from tables, `media` for texts and pictures, `folders` of pictures), `readouts`
what the values mean, `page` and `plots` the HTML page. Tables come through :mod:`nddv.tabular`.
Torch is imported only once an encoder is loaded or a valuation really starts.
"""

from nddv.cli.app import main

__all__ = ["main"]
