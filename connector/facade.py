"""The class that vLLM loads: it hands each call to the half that the process has."""

from collections.abc import Mapping, Sequence
from typing import Any

from pegaflow.connector import compat
from pegaflow.connector.assembly import Assembly
from pegaflow.connector.interface import (
    AllocatedBlocks,
    ConnectorOutput,
    Request,
    SchedulerOutput,
    Tensor,
)
from pegaflow.connector.metadata import StepPlan, WorkerReport
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.shield import shielded
from pegaflow.connector.stats import TransferMetrics, TransferStats
from pegaflow.connector.worker.half import WorkerSide

_Finished = tuple[bool, dict[str, Any] | None]


class PegaKVConnector(compat.KVConnectorBase_V1, compat.SupportsHMA):
    """vLLM's connector to the PegaFlow daemon of this host.

    It runs with vLLM's hybrid cache manager on: without ``SupportsHMA`` vLLM turns that manager off
    for everybody who attaches a cache, which makes models with recurrent layers fail at start and
    those with sliding windows use more memory. Models with more than one cache group therefore run
    as without a connector, and a sentence in the log says so.
    """

    def __init__(
        self, vllm_config: Any, role: compat.KVConnectorRole, kv_cache_config: Any = None
    ) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        assembly = Assembly(vllm_config, kv_cache_config)
        self._assembly = assembly
        self._scheduler_side: SchedulerSide | None = None
        self._worker_side: WorkerSide | None = None
        if role == compat.KVConnectorRole.SCHEDULER:
            self._scheduler_side = assembly.scheduler_side()
        else:
            self._worker_side = assembly.worker_side()

    @property
    def requires_kv_delivery(self) -> bool:
        """A save that is lost is a later miss, so nothing has to be delivered."""
        return False

    @property
    def prefer_cross_layer_blocks(self) -> bool:
        """On a GPU, have a block be one run over all layers where vLLM can (before 0.31)."""
        return self._assembly.is_on_cuda

    @property
    def _scheduler(self) -> SchedulerSide:
        assert self._scheduler_side is not None, "this is the worker side"
        return self._scheduler_side

    @property
    def _worker(self) -> WorkerSide:
        assert self._worker_side is not None, "this is the scheduler side"
        return self._worker_side

    # Scheduler side

    @shielded(lambda: (0, False))
    def get_num_new_matched_tokens(
        self, request: Request, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        """Tokens that can be loaded beyond the computed ones, always between steps."""
        return self._scheduler.match(request, num_computed_tokens)

    @shielded(lambda: None)
    def update_state_after_alloc(
        self, request: Request, blocks: AllocatedBlocks, num_external_tokens: int
    ) -> None:
        """Order the load of ``num_external_tokens`` into the request's blocks."""
        self._scheduler.allocated(request, blocks, num_external_tokens)

    @shielded(dict)
    def get_external_cache_hit_sources(
        self, request: Request, num_external_tokens: int
    ) -> dict[Any, int]:
        """The loaded tokens by the tier that had them."""
        hits = self._scheduler.hits_of(request, num_external_tokens)
        return compat.hit_sources(hits.memory, hits.ssd, hits.remote)

    @shielded(StepPlan)
    def build_connector_meta(self, scheduler_output: SchedulerOutput) -> StepPlan:
        """The workers' orders for this step."""
        return self._scheduler.plan(scheduler_output)

    @shielded(lambda: None)
    def update_connector_output(self, connector_output: ConnectorOutput) -> None:
        """Take what the workers reported."""
        self._scheduler.workers_said(connector_output)

    @shielded(lambda: (False, None))
    def request_finished(self, request: Request, block_ids: Sequence[int]) -> _Finished:
        """Whether vLLM must keep the request's blocks until the workers report it."""
        return self._scheduler.finished(request), None

    @shielded(lambda: (False, None))
    def request_finished_all_groups(
        self, request: Request, block_ids: tuple[Sequence[int], ...]
    ) -> _Finished:
        """The same, with the hybrid cache manager."""
        return self._scheduler.finished(request), None

    @shielded(lambda: False)
    def reset_cache(self) -> bool:
        """Let this engine find nothing of what was cached so far."""
        return self._scheduler.reset()

    # Worker side

    @shielded(lambda: None)
    def register_kv_caches(self, kv_caches: Mapping[str, Tensor]) -> None:
        """Read where each layer's blocks are."""
        self._worker.registered(self._assembly.register(kv_caches))

    @shielded(lambda: None)
    def register_cross_layers_kv_cache(self, kv_cache: Tensor, attn_backend: Any) -> None:
        """Read where the blocks of one tensor for all layers are (before 0.31)."""
        self._worker.registered(self._assembly.register({"all layers": kv_cache}))

    @shielded(lambda: None)
    def unregister_kv_caches(self) -> None:
        """VLLM goes to sleep: its KV cache memory goes away (0.33 on)."""
        self._worker.unregistered()

    @shielded(lambda: None)
    def restore_kv_caches(self) -> None:
        """VLLM woke up: its KV cache is at the same addresses again (0.33 on)."""
        self._worker.restored()

    @shielded(lambda: None)
    def handle_preemptions(self, kv_connector_metadata: compat.KVConnectorMetadata) -> None:
        """Let go of blocks that are about to be written by others."""
        if isinstance(kv_connector_metadata, StepPlan):
            self._worker.release(kv_connector_metadata)

    @shielded(lambda: None)
    def bind_connector_metadata(self, connector_metadata: compat.KVConnectorMetadata) -> None:
        """Take the step's orders and start its loads: no forward waits for them."""
        super().bind_connector_metadata(connector_metadata)
        if isinstance(connector_metadata, StepPlan):
            self._worker.begin(connector_metadata)
            self._worker.start_loads()

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Nothing to do: the loads started when the orders came."""

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Nothing to do: vLLM schedules a request only after its load has ended."""

    def save_kv_layer(
        self, layer_name: str, kv_layer: Tensor, attn_metadata: Any, **kwargs: Any
    ) -> None:
        """Nothing to do: blocks are saved whole, after the forward."""

    @shielded(lambda: None)
    def wait_for_save(self) -> None:
        """Start the step's saves; their blocks are kept until they end."""
        self._worker.start_saves()

    @shielded(lambda: (None, None))
    def get_finished(self, finished_req_ids: set[str]) -> tuple[set[str] | None, set[str] | None]:
        """Requests whose saves, and whose load, have ended on this worker."""
        return self._worker.collect(finished_req_ids)

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Blocks that vLLM must compute because they could not be loaded."""
        return self._worker.take_failed_blocks()

    @shielded(lambda: None)
    def build_connector_worker_meta(self) -> WorkerReport | None:
        """What the scheduler side is to know after this step."""
        return self._worker.report()

    # Both sides

    @shielded(lambda: None)
    def get_kv_connector_stats(self) -> TransferStats | None:
        """What happened on this side since the last call."""
        side = self._scheduler_side or self._worker
        return side.take_stats()

    @shielded(lambda: None)
    def shutdown(self) -> None:
        """End the session."""
        side = self._scheduler_side or self._worker
        side.close()

    @classmethod
    def supports_sleep_mode(cls) -> bool:
        """False: nothing here unregisters memory that sleeps, and registers it again."""
        return False

    @classmethod
    def build_kv_connector_stats(cls, data: dict[str, Any] | None = None) -> TransferStats:
        """The statistics that ``data`` came from."""
        return TransferStats(data or {})

    @classmethod
    def build_prom_metrics(
        cls,
        vllm_config: Any,
        metric_types: Mapping[Any, Any],
        labelnames: Sequence[str],
        per_engine_labelvalues: Mapping[int, Sequence[object]],
    ) -> TransferMetrics:
        """The connector's metrics in vLLM's Prometheus registry."""
        return TransferMetrics(vllm_config, metric_types, labelnames, per_engine_labelvalues)


compat.register("PegaKVConnector", "pegaflow.connector")
