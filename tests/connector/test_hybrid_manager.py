"""Attaching the cache does not change how vLLM manages models with several cache groups."""

from typing import Any

import pytest

from pegaflow.connector import PegaKVConnector, compat
from pegaflow.connector.facts import EngineFacts
from tests.connector.fake_request import FakeRequest
from tests.connector.sample_facts import facts, layer
from tests.connector.test_facade import Rig


def hybrid() -> EngineFacts:
    return facts(groups=((layer("a.0"),), (layer("a.1", kind="MambaSpec", full_attention=False),)))


def test_the_connector_leaves_the_hybrid_manager_on() -> None:
    assert issubclass(PegaKVConnector, compat.SupportsHMA)


def test_a_hybrid_model_is_served_as_without_a_connector(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rig = Rig(monkeypatch, hybrid())
    rig.register()
    rig.step()
    request: Any = FakeRequest.of_blocks(3)

    assert rig.scheduler.get_num_new_matched_tokens(request, 0) == (0, False)
    assert rig.scheduler.request_finished_all_groups(request, ([1], [2])) == (False, None)
    assert rig.daemon.clients == []
    assert caplog.text.count("the model has 2 cache groups and only one is supported so far") == 1
