"""Telling weights apart without reading all of them."""

import json
import os
from pathlib import Path

import pytest

from pegaflow.connector.facts import ModelSource
from pegaflow.connector.scheduler.adapters import Adapters
from pegaflow.connector.weights import fingerprint, name_weights
from pegaflow.errors import ConfigError

SIZE = 100_000


def write_safetensors(path: Path, tensors: dict[str, bytes]) -> None:
    header, start = {}, 0
    for name, data in tensors.items():
        offsets = [start, start + len(data)]
        header[name] = {"dtype": "F32", "shape": [len(data) // 4], "data_offsets": offsets}
        start += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(tensors.values()))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    (directory / "config.json").write_text("{}", encoding="utf-8")
    write_safetensors(directory / "model.safetensors", {"a": os.urandom(SIZE), "b": os.urandom(8)})
    return directory


def change(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_copies_of_a_model_are_equal_wherever_they_are(model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    for file in model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "README.md").write_text("not a weight", encoding="utf-8")

    assert fingerprint(copy) == fingerprint(model)


@pytest.mark.parametrize("part", ["start", "middle", "end", "small tensor", "config"])
def test_a_fine_tune_of_equal_names_and_sizes_is_another_model(model: Path, part: str) -> None:
    before = fingerprint(model)
    weights = model / "model.safetensors"
    data = weights.stat().st_size - SIZE - 8
    if part == "config":
        (model / "config.json").write_text('{"rope_theta": 1}', encoding="utf-8")
    else:
        places = {"start": 0, "middle": SIZE // 2, "end": SIZE - 1, "small tensor": SIZE + 3}
        change(weights, data + places[part])

    assert fingerprint(model) != before


def test_tensors_are_told_apart_by_name(model: Path) -> None:
    before = fingerprint(model)
    data = os.urandom(64)
    write_safetensors(model / "model.safetensors", {"a": data})
    renamed = fingerprint(model)
    write_safetensors(model / "model.safetensors", {"c": data})

    assert len({before, renamed, fingerprint(model)}) == 3


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.gguf", "model.pt"])
def test_other_formats_are_sampled_as_files(model: Path, name: str) -> None:
    (model / "model.safetensors").unlink()
    (model / name).write_bytes(os.urandom(SIZE))
    before = fingerprint(model)
    change(model / name, SIZE - 1)

    assert fingerprint(model) != before


def test_one_file_may_be_the_model(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(os.urandom(10))
    assert len(fingerprint(file)) == 64


def test_files_are_remembered_until_they_change(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = fingerprint(model, cache)
    (entry,) = cache.iterdir()
    entry.write_text("0" * 64, encoding="utf-8")
    assert fingerprint(model, cache) != before, "the cache is not read"

    change(model / "model.safetensors", -1)
    os.utime(model / "model.safetensors", (1, 1))
    assert fingerprint(model, cache) == fingerprint(model)


def test_a_cache_that_cannot_be_written_changes_nothing(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert fingerprint(model, tmp_path / "file" / "cache") == fingerprint(model)


@pytest.mark.parametrize("content", [b"", b"\xff" * 16, b"\x08" + bytes(7) + b"not json"])
def test_a_broken_file_is_an_error_that_names_it(model: Path, content: bytes) -> None:
    (model / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"safetensors|Expecting value"):
        fingerprint(model)


# What names the weights


def test_a_hub_model_is_its_commit() -> None:
    source = ModelSource("org/model", "main", "c" * 40, random=False)
    assert name_weights(source, "") == "commit org/model " + "c" * 40


def test_made_up_weights_are_known_by_their_model() -> None:
    assert name_weights(ModelSource("org/model", None, None, random=True), "") == "random org/model"


def test_a_local_model_is_its_content(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(model.parent / "cache"))
    named = name_weights(ModelSource(str(model), None, None, random=False), "")
    assert named == f"content {fingerprint(model)}"


def test_weights_that_nothing_names_are_refused_with_the_remedy() -> None:
    source = ModelSource("org/model", "main", None, random=False)
    with pytest.raises(ConfigError, match=r"give a commit as --revision, or name the weights in"):
        name_weights(source, "")
    assert name_weights(source, "release 7") == "named org/model main"


class Adapter:
    lora_int_id = 1
    load_inplace = False

    def __init__(self, path: Path) -> None:
        self.lora_path = str(path)


def test_an_adapter_is_its_content_from_its_first_use_on(
    model: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(model.parent / "cache"))
    adapters, adapter = Adapters(), Adapter(model)
    first = adapters.weights_of(adapter)
    change(model / "model.safetensors", -1)
    assert first is not None
    assert adapters.weights_of(adapter) == first
    adapter.load_inplace = True
    assert adapters.weights_of(adapter) not in (first, None)

    absent = Adapter(model / "absent")
    absent.lora_int_id = 2
    assert adapters.weights_of(absent) is None
    assert adapters.weights_of(absent) is None
    assert [str(model / "absent") in record.getMessage() for record in caplog.records] == [True]
