"""Changes of a daemon over HTTP, for those who have its token."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pegaflow.errors import CallTimeout, ConfigError, Refused, Unreachable, clause

_CONNECT_S: Final = 5.0


class Operator:
    """Does operations on the daemon at the address that ``find`` gives."""

    def __init__(self, find: Callable[[], str], token_file: Path) -> None:
        self._find = find
        self._token_file = token_file

    def do(self, operation: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The result of an operation, once it has ended, however long that takes.

        Raises ``Refused`` with the daemon's sentence, and what ``read_token`` raises.
        """
        import httpx

        url = f"{self._find()}/v1/operations/{operation}"
        headers = {"Authorization": f"Bearer {read_token(self._token_file)}"}
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        try:
            answer = httpx.post(url, json=fields, headers=headers, timeout=timeout, trust_env=False)
        except httpx.TimeoutException as error:
            raise CallTimeout(f"{url} did not answer within {_CONNECT_S:g} s") from error
        except httpx.TransportError as error:
            raise Unreachable(f"{url} does not answer: {clause(error)}") from error
        try:
            result: dict[str, Any] = answer.json()
        except ValueError:
            result = {}
        if not answer.is_success:
            raise Refused(str(result.get("error", f"{url} answered {answer.status_code}")))
        return result


def read_token(file: Path) -> str:
    """The secret in a file; raises ``ConfigError`` for a file without one."""
    try:
        token = file.read_text(encoding="utf-8").strip()
        why = None if token else "it is empty"
    except OSError as error:
        why = str(error.strerror)
    except UnicodeDecodeError:
        why = "it is no text"
    if why is not None:
        raise ConfigError(
            f"the token file {file} cannot be used ({why}); "
            "give a copy of the daemon's http_token_file that you may read"
        )
    return token
