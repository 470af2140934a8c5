"""How an engine joins the cache: once all its workers have said what they hold."""

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pegaflow.connector.attachment import Attachment
from pegaflow.connector.facts import EngineFacts
from pegaflow.connector.identity import next_epoch
from pegaflow.connector.metadata import EngineIdentity, WorkerLayout
from pegaflow.connector.scheduler.lookups import Lookups
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.shield import log, report

if TYPE_CHECKING:
    from pegaflow._native import SchedulerClient


class Membership:
    """The engine's identity and its session.

    ``namespace_of`` computes the namespace from the layout digests of the workers, by rank;
    ``open_client`` opens a session. Both are called once all workers have reported. With a
    ``refusal``, by the engine or by a worker, the engine serves without the cache.
    """

    def __init__(
        self,
        facts: EngineFacts,
        *,
        refusal: str | None,
        namespace_of: Callable[[Mapping[int, str]], bytes],
        open_client: Callable[[EngineIdentity], "SchedulerClient"],
        attachment: Attachment,
        patience: Patience,
    ) -> None:
        self._facts = facts
        self._namespace_of = namespace_of
        self._open_client = open_client
        self._attachment = attachment
        self._patience = patience
        self._layouts: dict[int, WorkerLayout] = {}
        self.identity: EngineIdentity | None = None
        """None until the engine has joined."""
        self.lookups: Lookups | None = None
        """None until the engine has joined, and after ``close``."""
        self.is_refused = False
        if refusal is not None:
            self._refuse(refusal)

    def see_layouts(self, layouts: Mapping[int, WorkerLayout]) -> None:
        """What workers found, by rank; the last one that was missing lets the engine join."""
        if self.is_refused or self.identity is not None:
            return
        self._layouts.update(layouts)
        for rank, layout in sorted(self._layouts.items()):
            if layout.refusal:
                self._refuse(f"worker {rank}: {layout.refusal}")
                return
        if len(self._layouts) == self._facts.parallelism.workers:
            digests = {rank: layout.digest for rank, layout in self._layouts.items()}
            try:
                self._open(self._namespace_of(digests))
            except Exception as error:
                report("joining the cache", error)
                self._refuse("the engine could not join the cache")

    def begin_epoch(self) -> None:
        """Go on under a namespace that nobody has, if the engine has joined."""
        if self.identity is not None:
            before = self.lookups
            self._open(next_epoch(self.identity.namespace, os.urandom(16)))
            if before is not None:
                before.close()

    def close(self) -> None:
        """End the session; its leases end with it."""
        if self.lookups is not None:
            self.lookups.close()
            self.lookups = None

    def _open(self, namespace: bytes) -> None:
        replicas = math.gcd(*(layout.replicas for layout in self._layouts.values()))
        identity = EngineIdentity(os.urandom(16), namespace, replicas)
        client = self._open_client(identity)
        self.lookups = Lookups(client, self._facts.hash_bytes, self._patience, self._attachment)
        self.identity = identity

    def _refuse(self, why: str) -> None:
        self.is_refused = True
        log.warning("serving without the cache: %s", why)
