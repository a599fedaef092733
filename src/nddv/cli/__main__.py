"""``python -m nddv.cli`` is the same as ``nddv``."""

import sys

from nddv.cli import main

sys.exit(main())
