"""The class that vLLM loads, with vLLM's configuration and the native clients faked."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pegaflow import _native
from pegaflow.connector import PegaKVConnector, compat
from pegaflow.connector.assembly import Assembly
from pegaflow.connector.facts import EngineFacts, ModelSource
from pegaflow.connector.metadata import EngineIdentity
from pegaflow.connector.stats import TransferStats
from pegaflow.errors import ConfigError
from tests.connector.fake_daemon import FakeDaemon, FakeSchedulerClient, FakeWorkerClient
from tests.connector.fake_request import FakeRequest, step_of_new
from tests.connector.sample_facts import facts
from tests.connector.simulated_pool import BlockPool
from tests.connector.simulated_request import AllocatedIds, Said, Scheduled

SCHEDULER, WORKER = compat.KVConnectorRole.SCHEDULER, compat.KVConnectorRole.WORKER


class FakeTensor:
    dtype = "torch.bfloat16"
    shape = (1000, 2, 32, 128)

    def __init__(self, address: int, device: str = "cpu") -> None:
        self.address = address
        self.device = SimpleNamespace(type=device)

    def stride(self) -> tuple[int, ...]:
        return (8192, 4096, 128, 1)

    def element_size(self) -> int:
        return 2

    def data_ptr(self) -> int:
        return self.address


class Rig:
    """Both halves of one engine, as vLLM makes them."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        engine: EngineFacts | None = None,
        extra: dict[str, Any] | None = None,
        random_seed: bool = False,
    ) -> None:
        self.daemon = FakeDaemon(random.Random(0), workers=1, shards=1)
        self.pool = BlockPool(10, 1)
        self.config = SimpleNamespace(
            kv_transfer_config=SimpleNamespace(
                kv_connector_extra_config=extra or {},
                kv_role="kv_both",
                kv_load_failure_policy="fail",
            )
        )
        for name, answer in {
            "read_engine": engine or facts(),
            "hash_of_tokens": b"h" * 32,
            "hash_seed_is_random": random_seed,
            "worker_rank": 0,
            "attention_backends": ["backend"],
        }.items():
            monkeypatch.setattr(compat, name, lambda *args, answer=answer: answer)
        monkeypatch.setattr(Assembly, "_open_scheduler_client", self._open_scheduler)
        monkeypatch.setattr(Assembly, "_open_worker_client", self._open_worker)
        cache = SimpleNamespace(kv_cache_tensors=[])
        self.worker = PegaKVConnector(self.config, WORKER, cache)
        self.scheduler = PegaKVConnector(self.config, SCHEDULER, cache)

    def _open_scheduler(self, identity: EngineIdentity) -> Any:
        client = FakeSchedulerClient(self.daemon, identity)
        client.slow = 0.0
        return client

    def _open_worker(self, identity: EngineIdentity) -> Any:
        client = FakeWorkerClient(self.daemon, 0, 0, self.pool)
        client.fails = 0.0
        return client

    def register(self, device: str = "cpu") -> None:
        names = [layer.name for layer in facts().groups[0]]
        self.worker.register_kv_caches(
            {name: FakeTensor(at << 30, device) for at, name in enumerate(names, 1)}
        )

    def step(self, scheduled: Scheduled | None = None) -> Said:
        """One step of the scheduler and the worker; the daemon ends what it has."""
        meta = self.scheduler.build_connector_meta(scheduled or Scheduled())
        self.worker.handle_preemptions(meta)
        self.worker.bind_connector_metadata(meta)
        self.worker.start_load_kv(None)
        self.worker.wait_for_layer_load("layer")
        self.worker.save_kv_layer("layer", FakeTensor(0), None)
        self.worker.wait_for_save()
        for _ in range(20):
            for client in self.daemon.clients:
                client.advance()
        sent, received = self.worker.get_finished(set())
        said = Said(
            sent or set(),
            received or set(),
            self.worker.get_block_ids_with_load_errors(),
            self.worker.build_connector_worker_meta(),
        )
        self.worker.clear_connector_metadata()
        self.scheduler.update_connector_output(said)
        return said


def test_blocks_that_one_request_saved_are_loaded_for_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rig = Rig(monkeypatch)
    rig.register()
    rig.step()
    first = FakeRequest.of_blocks(2, "first")
    assert rig.scheduler.get_num_new_matched_tokens(first, 0) == (0, False)
    for block, hash in zip([1, 2], first.block_hashes, strict=True):
        rig.pool.memory[0][block] = hash
    rig.pool._owners[5] = rig.pool._owners[6] = {"second"}
    rig.scheduler.update_state_after_alloc(first, AllocatedIds([1, 2]), 0)
    rig.step(step_of_new(first, [1, 2], tokens=64))
    assert rig.scheduler.request_finished(first, [1, 2]) == (False, None)

    second = FakeRequest("second", first.block_hashes)
    assert rig.scheduler.get_num_new_matched_tokens(second, 0) == (64, True)
    rig.scheduler.update_state_after_alloc(second, AllocatedIds([5, 6]), 64)
    said = rig.step()

    assert said.finished_recving == {"second"}
    assert said.invalid_block_ids == set()
    assert rig.pool.memory[0][5:7] == first.block_hashes
    stats = rig.worker.get_kv_connector_stats()
    assert isinstance(stats, TransferStats)
    assert stats.data["load_blocks"] == stats.data["save_blocks"] == [2]
    assert rig.scheduler.request_finished_all_groups(second, ([5, 6],)) == (False, None)
    rig.worker.shutdown()
    rig.scheduler.shutdown()


def test_vllm_computes_what_could_not_be_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch)
    assert rig.config.kv_transfer_config.kv_load_failure_policy == "recompute"
    assert caplog.text.count("kv_load_failure_policy is now 'recompute'") == 1


def test_the_user_may_keep_vllms_policy_for_failed_loads(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch, extra={"pegaflow.load_failure_policy": "fail"})
    assert rig.config.kv_transfer_config.kv_load_failure_policy == "fail"
    assert caplog.text == ""


def test_a_random_hash_seed_is_said_loudly_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Rig(monkeypatch, random_seed=True)
    assert "set PYTHONHASHSEED=0 for all engines" in caplog.text


def test_a_cache_on_an_unknown_device_is_left_alone_with_one_sentence(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch)
    rig.register("xpu")
    rig.step()
    rig.step()

    request = FakeRequest.of_blocks(2)
    assert rig.scheduler.get_num_new_matched_tokens(request, 0) == (0, False)
    sentence = "worker 0: the KV cache is on xpu; cpu or cuda is supported"
    assert caplog.text.count(sentence) == 1


def test_one_tensor_across_layers_is_registered_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    rig.worker.register_cross_layers_kv_cache(FakeTensor(1 << 30), None)
    rig.step()
    rig.step()
    assert rig.daemon.clients, "the worker has not joined the engine"


@pytest.mark.parametrize(("device", "prefers"), [("cpu", False), ("cuda", True), ("xpu", False)])
def test_blocks_across_layers_are_asked_for_on_nvidia_gpus_alone(
    monkeypatch: pytest.MonkeyPatch, device: str, prefers: bool
) -> None:
    rig = Rig(monkeypatch)
    rig.config.device_config = SimpleNamespace(device_type=device)
    assert rig.worker.prefer_cross_layer_blocks is prefers


def test_weights_that_nothing_names_are_refused_but_the_engine_serves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    unnamed = replace(facts(), model=ModelSource("org/model", None, None, random=False))
    rig = Rig(monkeypatch, unnamed)
    assert rig.scheduler.get_num_new_matched_tokens(FakeRequest.of_blocks(2), 0) == (0, False)
    assert "the commit of org/model is not known" in caplog.text


def test_tensors_that_cannot_be_read_are_a_refusal_not_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch)
    monkeypatch.setattr(FakeTensor, "shape", None)
    rig.register()
    rig.step()
    assert "the KV cache of this vLLM could not be read" in caplog.text


def test_memory_that_cannot_be_shared_leaves_the_cache_off_and_the_log_names_the_setting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    why = "it is mapped piece by piece; turn off expandable_segments in PYTORCH_CUDA_ALLOC_CONF"

    def refuse(layout_json: str) -> None:
        raise _native.ConfigError(why)

    monkeypatch.setattr(_native, "EngineLayout", refuse)
    rig = Rig(monkeypatch)
    rig.register("cuda")
    rig.step()
    assert why in caplog.text
    request = FakeRequest.of_blocks(2)
    assert rig.scheduler.get_num_new_matched_tokens(request, 0) == (0, False)
    rig.scheduler.update_state_after_alloc(request, AllocatedIds([1, 2]), 0)
    rig.step(step_of_new(request, [1, 2], tokens=64))
    assert rig.scheduler.request_finished(request, [1, 2]) == (False, None)
    assert rig.daemon.clients == [], "no worker attaches"


def test_a_mistake_in_the_settings_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"pegaflow\.port"):
        Rig(monkeypatch, extra={"pegaflow.port": 50055})


def test_a_vllm_that_gives_no_cache_configuration_is_told_which_are_supported() -> None:
    with pytest.raises(ConfigError, match=r"vLLM 0\.20 to 0\.33 are supported"):
        PegaKVConnector(SimpleNamespace(), SCHEDULER)


def test_calls_of_the_wrong_half_are_answered_as_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(monkeypatch)
    assert rig.worker.get_num_new_matched_tokens(FakeRequest.of_blocks(1), 0) == (0, False)
    assert rig.scheduler.get_finished(set()) == (None, None)


def test_vllm_is_not_to_put_the_memory_to_sleep() -> None:
    assert PegaKVConnector.supports_sleep_mode() is False


def test_statistics_are_built_from_their_data() -> None:
    stats = PegaKVConnector.build_kv_connector_stats({"load_success": 2})
    assert stats.reduce() == {"load_success": 2}
    assert PegaKVConnector.build_kv_connector_stats().is_empty()
