"""Lookups of the scheduler side: bounded in time, and never an error for vLLM."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.scheduler.tracker import Hits, Record
from pegaflow.connector.shield import report

if TYPE_CHECKING:
    from pegaflow._native import SchedulerClient

_STEP_WAIT_S: Final = 0.004
"""All lookups of one scheduler step together may wait this long for answers.

A call may take 5 ms, and waking up takes some of them.
"""

_CONNECT_S: Final = 1.0
"""So long a new session may take to attach before its daemon counts as absent."""


class Lookups:
    """The answers and leases of one engine session."""

    def __init__(
        self,
        client: "SchedulerClient",
        hash_bytes: int,
        patience: Patience,
        attachment: Attachment,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._hash_bytes = hash_bytes
        self._patience = patience
        self._attachment = attachment
        self._clock = clock
        self._wait_left = _STEP_WAIT_S
        self._connect_until = clock() + _CONNECT_S

    def begin_step(self) -> None:
        """The next step's lookups may wait again."""
        self._wait_left = _STEP_WAIT_S
        try:
            self._attachment.look(self._client)
        except Exception as error:
            report("looking at the session", error)

    def set_compute_time(self, seconds_per_block: float) -> None:
        """The engine takes this long for a block: what takes longer to fetch is not fetched."""
        try:
            self._client.set_block_compute(seconds_per_block)
        except Exception as error:
            report("telling how long a block takes", error)

    def ask(self, record: Record, keys: Sequence[bytes]) -> Hits | None:
        """The hits of these keys; None: ask again in a later step.

        The same call again gives the same answer; other keys end the earlier lookup.
        """
        record.asked = True
        start = self._clock()
        try:
            answer = self._client.lookup(
                record.request.request_id, b"".join(keys), self._hash_bytes, self._wait_left
            )
            unanswered = answer.state == "ask_again" or (
                answer.state == "off" and self._is_connecting()
            )
        except Exception as error:
            report("a lookup", error)
            return Hits()
        self._wait_left = max(0.0, self._wait_left - (self._clock() - start))
        if answer.state in ("ready", "pending"):
            self._patience.answered()
            record.waiting_since = None
        if answer.state == "pending":
            return None  # bounded by the daemon
        if answer.state == "ready":
            hits = Hits(answer.memory_blocks, answer.ssd_blocks, answer.remote_blocks)
            return hits if hits.blocks <= len(keys) else Hits()
        return None if unanswered and self._patience.defers(record) else Hits()

    def _is_connecting(self) -> bool:
        """Whether the session is so new that "off" may only mean "not yet"."""
        if self._clock() >= self._connect_until or self._attachment.is_hopeless():
            return False
        if self._client.attached():
            self._connect_until = float("-inf")
        return True

    def take(self, record: Record) -> tuple[int, int]:
        """Lease id and boot id of the answer, now the load's; (0, 0) when they are gone."""
        record.asked = False
        try:
            return self._client.take(record.request.request_id) or (0, 0)
        except Exception as error:
            report("taking a lease", error)
            return (0, 0)

    def forget(self, record: Record) -> None:
        """The request needs no answer any more: its lease ends, also one that is still to come."""
        if not record.asked:
            return
        record.asked = False
        try:
            self._client.forget(record.request.request_id)
        except Exception as error:
            report("giving up a lookup", error)

    def release(self, lease_id: int, boot_id: int) -> None:
        """End a lease that was taken and not loaded."""
        if lease_id == 0:
            return
        try:
            self._client.release(lease_id, boot_id)
        except Exception as error:
            report("releasing a lease", error)

    def close(self) -> None:
        """End the session."""
        try:
            self._client.close()
        except Exception as error:
            report("closing the session", error)
