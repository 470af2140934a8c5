"""The native client of one worker, such that nothing it does reaches vLLM as an error."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.metadata import EngineIdentity, SaveOrder
from pegaflow.connector.shield import report

if TYPE_CHECKING:
    from pegaflow._native import StreamPoint, TransferEnd, WorkerClient


class Transfers:
    """Starts, revokes and polls transfers; without a client everything ends at once."""

    def __init__(
        self,
        open_client: Callable[[EngineIdentity], "WorkerClient"],
        attachment: Attachment,
        stream_of: Callable[[], int],
    ) -> None:
        self._open_client = open_client
        self._stream_of = stream_of
        self._attachment = attachment
        self._client: WorkerClient | None = None
        self._identity: EngineIdentity | None = None

    def identify(self, identity: EngineIdentity) -> None:
        """Join the engine; another identity than before begins a new session."""
        if identity == self._identity:
            return
        self.close()
        self._identity = identity
        try:
            self._client = self._open_client(identity)
            self._client.identify(identity.engine_key, identity.namespace)
        except Exception as error:
            report("joining the cache", error)

    def mark(self) -> "StreamPoint | None":
        """The end of what vLLM has launched by now; None for memory of the host."""
        if self._client is None:
            return None
        try:
            return self._client.mark(self._stream_of())
        except Exception as error:
            report("marking a point in the stream", error)
            return None

    def save(self, order: SaveOrder, point: "StreamPoint | None") -> int | None:
        """Start a save; its transfer id, or None when there is nothing to wait for."""
        if self._client is None:
            return None
        try:
            return self._client.save(
                order.request_id, order.hashes, order.block_ids, point, order.after
            )
        except Exception as error:
            report("starting a save", error)
            return None

    def load(
        self,
        request_id: str,
        lease_id: int,
        boot_id: int,
        block_ids: Sequence[int],
        point: "StreamPoint | None",
    ) -> int | None:
        """Start a load; its transfer id, or None when it has failed already."""
        if self._client is None or lease_id == 0:
            return None
        try:
            return self._client.load(request_id, lease_id, boot_id, 0, block_ids, point)
        except Exception as error:
            report("starting a load", error)
            return None

    def revoke(self, transfer_id: int) -> bool:
        """Take a transfer's grant back: whether its blocks are free now."""
        if self._client is None:
            return True
        try:
            return self._client.revoke(transfer_id)
        except Exception as error:
            report("revoking a transfer", error)
            return False

    def poll(self) -> "list[TransferEnd]":
        """The transfers that ended since the last call."""
        if self._client is None:
            return []
        try:
            self._attachment.look_for_refusal(self._client)
            return self._client.poll()
        except Exception as error:
            report("polling transfers", error)
            return []

    def close(self) -> None:
        """End the session; nothing touches the worker's blocks afterwards."""
        client, self._client, self._identity = self._client, None, None
        if client is None:
            return
        try:
            client.close()
        except Exception as error:
            report("closing the session", error)
