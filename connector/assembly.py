"""Builds the halves of a connector from vLLM's configuration and the native clients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pegaflow.connector import compat
from pegaflow.connector.attachment import Attachment
from pegaflow.connector.identity import PROBE_TOKENS, namespace
from pegaflow.connector.interface import Tensor
from pegaflow.connector.metadata import EngineIdentity, WorkerLayout
from pegaflow.connector.options import Options
from pegaflow.connector.scheduler.adapters import Adapters
from pegaflow.connector.scheduler.half import SchedulerSide
from pegaflow.connector.scheduler.membership import Membership
from pegaflow.connector.scheduler.patience import Patience
from pegaflow.connector.shield import log, report
from pegaflow.connector.weights import name_weights
from pegaflow.connector.worker.half import WorkerSide
from pegaflow.connector.worker.registration import read_tensors
from pegaflow.connector.worker.stream import current_stream
from pegaflow.errors import ConfigError

if TYPE_CHECKING:
    from pegaflow._native import EngineLayout, SchedulerClient, WorkerClient


class Assembly:
    """What both halves of one connector are made of; raises ``ConfigError`` for bad settings."""

    def __init__(self, vllm_config: Any, kv_cache_config: Any) -> None:
        if kv_cache_config is None:
            raise ConfigError("vLLM gave no kv_cache_config; vLLM 0.20 to 0.33 are supported")
        transfer = vllm_config.kv_transfer_config
        self._vllm_config = vllm_config
        self._kv_cache_config = kv_cache_config
        self._options = Options.of(transfer.kv_connector_extra_config, transfer.kv_role)
        self._facts = compat.read_engine(vllm_config, kv_cache_config)
        self._rank = 0
        self._engine_layout: EngineLayout | None = None

    @property
    def is_on_cuda(self) -> bool:
        """Whether the engine runs on NVIDIA GPUs."""
        return str(self._vllm_config.device_config.device_type) == "cuda"

    def scheduler_side(self) -> SchedulerSide:
        """The half beside vLLM's scheduler; has vLLM compute what cannot be loaded."""
        wanted = self._options.recompute_failed_loads
        if wanted and compat.recompute_failed_loads(self._vllm_config):
            log.warning(
                "kv_load_failure_policy is now 'recompute': a failed load costs time, not the "
                "request (pegaflow.load_failure_policy 'fail' keeps vLLM's default)"
            )
        if compat.hash_seed_is_random(self._vllm_config):
            log.warning(
                "vLLM %s hashes blocks with a seed that is random in each process: nothing is "
                "found again after a restart or by other engines; set PYTHONHASHSEED=0 for all "
                "engines (`pegaflow vllm` does)",
                self._facts.vllm,
            )
        refusal, weights = self._facts.refusal(), {}
        if refusal is None:
            try:
                weights = self._weights()
            except ConfigError as error:
                refusal = str(error)
        patience = Patience()
        membership = Membership(
            self._facts,
            refusal=refusal,
            namespace_of=lambda layouts: self._namespace(weights, layouts),
            open_client=self._open_scheduler_client,
            attachment=Attachment(self._options.socket),
            patience=patience,
        )
        return SchedulerSide(
            self._facts,
            membership,
            patience,
            saves=self._options.saves,
            loads=self._options.loads,
            adapter_of=Adapters().weights_of,
        )

    def worker_side(self) -> WorkerSide:
        """The half in a worker."""
        self._rank = compat.worker_rank()
        attachment = Attachment(self._options.socket)
        return WorkerSide(
            self._rank, self._open_worker_client, attachment, stream_of=current_stream
        )

    def register(self, kv_caches: Mapping[str, Tensor]) -> WorkerLayout:
        """Read the worker's tensors; what cannot be read is a refusal."""
        try:
            registration = read_tensors(
                kv_caches,
                self._facts,
                block_strides=compat.block_strides(self._kv_cache_config),
                backends=compat.attention_backends(self._vllm_config),
            )
        except Exception as error:
            report("reading the KV cache", error)
            return WorkerLayout("", 1, "the KV cache of this vLLM could not be read")
        if registration.layout.refusal:
            return registration.layout
        from pegaflow._native import EngineLayout, NativeError

        try:
            self._engine_layout = EngineLayout(registration.layout_json)
        except NativeError as error:
            return replace(registration.layout, refusal=str(error))
        return registration.layout

    def _weights(self) -> dict[str, str]:
        sources = {"model": self._facts.model, "draft": self._facts.draft}
        salt = self._options.namespace_salt
        return {
            role: name_weights(source, salt)
            for role, source in sources.items()
            if source is not None
        }

    def _namespace(self, weights: Mapping[str, str], layouts: Mapping[int, str]) -> bytes:
        return namespace(
            self._facts,
            weights=weights,
            hash_scheme=compat.hash_of_tokens(self._vllm_config, PROBE_TOKENS),
            layouts=layouts,
            salt=self._options.namespace_salt,
        )

    def _open_scheduler_client(self, identity: EngineIdentity) -> "SchedulerClient":
        from pegaflow._native import SchedulerClient

        workers = self._facts.parallelism.workers
        return SchedulerClient(
            self._options.socket,
            identity.engine_key,
            self._facts.engine_id,
            identity.namespace,
            self._facts.model.name,
            workers,
            workers // identity.replicas,
        )

    def _open_worker_client(self, identity: EngineIdentity) -> "WorkerClient":
        from pegaflow._native import WorkerClient

        assert self._engine_layout is not None, "a worker that was refused joins no engine"
        return WorkerClient(
            self._options.socket,
            self._facts.engine_id,
            self._rank,
            self._rank // identity.replicas,
            self._engine_layout,
        )
