"""The vLLM connector, named in vLLM's ``kv_connector_module_path`` as ``pegaflow.connector``.

Importing this package loads nothing else; the class is loaded when it is first looked up.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegaflow.connector.facade import PegaKVConnector

__all__ = ["PegaKVConnector"]


def __getattr__(name: str) -> Any:
    if name == "PegaKVConnector":
        from pegaflow.connector.facade import PegaKVConnector
        from pegaflow.distribution import refuse_strangers

        refuse_strangers()
        return PegaKVConnector
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
