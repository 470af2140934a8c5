"""Characters that the encoding of a stream does not have."""

import codecs
import json
from typing import Final

ESCAPED: Final = "pegaflow-escaped"
r"""The error handler that writes them as JSON does, as in ``\u00f6``: what is JSON stays so."""


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(ESCAPED, _escaped)
