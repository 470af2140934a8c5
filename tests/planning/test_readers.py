"""Traces are read as their formats say, and what is wrong with a line is said with its number."""

import gzip
import json
import re
from pathlib import Path

import pytest

from pegaflow.errors import ConfigError
from pegaflow.planning import ReadOptions, Trace, read_trace, readers
from tests.planning.traces import conversations, write_lines


def read(path: Path, **options: object) -> Trace:
    return read_trace(path, ReadOptions(**options), lambda _: None)  # type: ignore[arg-type]


def test_mooncake_lines_have_milliseconds_and_blocks_of_512_tokens(tmp_path: Path) -> None:
    lines = conversations(1)
    trace = read(write_lines(tmp_path / "trace.jsonl", lines))
    assert (trace.form, trace.block_tokens) == ("mooncake", 512)
    assert (trace.requests, trace.duration_s) == (200, 199.0)
    ids = [block for line in lines for block in line["hash_ids"]]  # type: ignore[attr-defined]
    assert (trace.blocks, trace.distinct_blocks) == (len(ids), len(set(ids)))


def test_qwen_lines_have_seconds_and_blocks_of_16_tokens(tmp_path: Path) -> None:
    line = {
        "chat_id": 1, "parent_chat_id": -1, "timestamp": 61.5, "input_length": 40,
        "output_length": 5, "type": "text", "turn": 1, "hash_ids": [1, 2, 3],
    }  # fmt: skip
    lines = [line, {**line, "timestamp": 63.5}]
    trace = read(write_lines(tmp_path / "trace.jsonl", lines))
    assert (trace.form, trace.block_tokens, trace.duration_s) == ("qwen-bailian", 16, 2.0)
    assert trace.blocks == 4


def test_the_partial_block_of_a_prompt_counts_only_on_request(tmp_path: Path) -> None:
    line = {"timestamp": 0, "input_length": 1000, "output_length": 1, "hash_ids": [1, 2]}
    path = write_lines(tmp_path / "trace.jsonl", [line])
    assert read(path).blocks == 1
    assert read(path, count_partial=True).blocks == 2


def test_azure_lines_share_what_is_supposed_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,64,10\n"
        "2023-11-16 18:15:50.9951690,48,8\n",
        encoding="utf-8",
    )
    trace = read(path, shared_tokens=32)
    assert (trace.form, trace.requests) == ("azure", 2)
    assert trace.duration_s == pytest.approx(4.314579)
    assert (trace.blocks, trace.distinct_blocks) == (7, 5)
    assert "supposed" in trace.reuse_model and "32 tokens" in trace.reuse_model


def test_azure_times_may_name_their_zone(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    times = ("23:59:59.5", "23:59:59.751+00:00", "23:59:59.9Z")
    lines = [f"2024-05-09 {time},64,10\n" for time in times]
    lines.append("2024-05-10 02:00:00+02:00,64,10\n")
    path.write_text(f"TIMESTAMP,ContextTokens,GeneratedTokens\n{''.join(lines)}", encoding="utf-8")
    trace = read(path)
    assert trace.requests == 4
    assert trace.duration_s == pytest.approx(0.5)


def test_burstgpt_sessions_begin_with_what_they_had(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(
        "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
        "Log Type\n"
        "5,a,1,ChatGPT,32,5,37,Conversation log\n"
        "6,b,1,ChatGPT,32,5,37,Conversation log\n"
        "9,a,1,ChatGPT,64,5,69,Conversation log\n",
        encoding="utf-8",
    )
    trace = read(path)
    assert (trace.form, trace.blocks, trace.distinct_blocks) == ("burstgpt", 8, 6)
    assert "session" in trace.reuse_model


BAD_LINES = {
    "{broken": "no JSON",
    "[1]": "no JSON object",
    '{"timestamp": -5, "input_length": 512, "hash_ids": [1]}': "timestamp is -5",
    '{"timestamp": 0, "input_length": "x", "hash_ids": [1]}': "input_length is 'x'",
    '{"timestamp": 0, "input_length": 512, "hash_ids": "x"}': "hash_ids is not a list",
    '{"timestamp": 0, "input_length": 512, "hash_ids": [1, 2, 3]}': "--block-tokens",
    '{"timestamp": 0, "input_length": 512, "hash_ids": [1.5]}': "hash_ids is not a list",
    '{"timestamp": 0, "input_length": 16777217, "hash_ids": [1]}': "from 0 to 16,777,216",
    '{"timestamp": 0, "input_length": 1e999, "hash_ids": [1]}': "input_length is inf, allowed",
    '{"timestamp": 1e999, "input_length": 512, "hash_ids": [1]}': "timestamp is inf, allowed",
    '{"timestamp": 0, "input_length": 512, "output_length": -1, "hash_ids": [1]}': "output_length",
    f'{{"timestamp": 0, "input_length": {"9" * 4000}, "hash_ids": []}}': "99..., allowed",
}


@pytest.mark.parametrize(("line", "says"), BAD_LINES.items())
def test_a_bad_line_is_named_and_can_be_passed_over(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "trace.jsonl"
    good = {"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [7]}
    path.write_text(f"{json.dumps(good)}\n{line}\n{json.dumps(good)}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2: ") as raised:
        read(path)
    assert says in str(raised.value)
    trace = read(path, skip_bad=True)
    assert trace.requests == 2
    assert len(trace.skipped) == 1 and says in trace.skipped[0]


_DIGITS = "number of tokens, allowed is one from 0 to 16,777,216"
BAD_CELLS = {
    "5,999999999999999": _DIGITS,
    f"5,{'9' * 5000}": f"'{'9' * 59}... is no {_DIGITS}",
    "5,16777217": _DIGITS,
    "5,\u00b2": _DIGITS,
    "5,-1": _DIGITS,
    "5": "it has 1 cells, there are 2 columns",
    f"5,{'x' * (200 << 10)}": "it is no CSV (field larger than",
    "nan,64": "the time nan s is too far from 0",
    "1e300,64": "the time 1e+300 s is too far from 0",
    "2023-11-16 18:15:46.5e999,64": "'2023-11-16 18:15:46.5e999' is no time in seconds or as",
    "2023-11-16 18:15:46+25:00,64": "'2023-11-16 18:15:46+25:00' is no time in seconds or as",
}


@pytest.mark.parametrize(("line", "says"), BAD_CELLS.items(), ids=range(len(BAD_CELLS)))
def test_a_bad_line_of_cells_is_named_and_can_be_passed_over(
    tmp_path: Path, line: str, says: str
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"TIMESTAMP,ContextTokens\n4,64\n{line}\n6,64\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3: ") as raised:
        read(path)
    assert says in str(raised.value) and len(str(raised.value)) < 400
    trace = read(path, skip_bad=True)
    assert (trace.requests, trace.skipped_lines) == (2, 1)


def test_a_prompt_of_the_most_tokens_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("TIMESTAMP,ContextTokens\n4,0016777216\n", encoding="utf-8")
    assert read(path, block_tokens=1 << 14).blocks == 1024


STRANGE = {
    "long": "x" * (200 << 10),
    "deep": "[" * 200_000,
    "deep object": '{"hash_ids": ' + "[" * 200_000,
    "quotes": '"' * 1001,
    "zeros": "\0" * 1000,
    "no size": '{"hash_ids": [], "block_bytes": -1, "namespace": ""}',
}
GOOD = {
    "mooncake": json.dumps({"timestamp": 0, "input_length": 512, "hash_ids": [7]}),
    "azure": "TIMESTAMP,ContextTokens\n1,64",
    "vllm-log": "INFO 11-30 06:48:10 [a.py:1] Request 1 , prompt_token_ids: [1, 2]",
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize(("form", "good"), GOOD.items(), ids=GOOD)
def test_the_first_line_with_a_format_says_what_it_is(
    tmp_path: Path, strange: str, form: str, good: str
) -> None:
    path = tmp_path / "trace"
    path.write_text(f"{strange}\n" * 3, encoding="utf-8")
    for skip_bad in (False, True):
        with pytest.raises(ConfigError, match="; "):
            read(path, skip_bad=skip_bad)
    path.write_text(f"\n{strange}\n\n{good}\n", encoding="utf-8")
    trace = read(path, skip_bad=True)
    assert (trace.form, trace.requests) == (form, 1)


def test_a_format_is_looked_for_in_some_lines_and_in_all_where_bad_ones_do_not_count(
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace"
    path.write_text("hello\n" * 200 + GOOD["mooncake"] + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="allowed: Mooncake"):
        read(path)
    trace = read(path, skip_bad=True)
    assert (trace.requests, trace.skipped_lines) == (1, 200)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_line_of_any_length_is_passed_over_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(readers, "_LONGEST_LINE", 100)
    path = tmp_path / "trace"
    for length in (100, 101, 199, 200, 1000):
        lines = [GOOD["mooncake"]] * 2
        lines.insert(at, "x" * length)
        path.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(ConfigError, match=f"line {at + 1}: it has 100 characters or more"):
            read(path)
        trace = read(path, skip_bad=True)
        assert (trace.requests, trace.skipped_lines) == (2, 1)


def test_what_a_program_says_as_it_starts_is_no_bad_line_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    said = "\n\nFutureWarning: soon\n  import this\n [ banner ]\n{'a': 1}\n"
    path.write_text(said + vllm_lines([1] * 32), encoding="utf-8")
    assert (read(path).form, read(path).requests) == ("vllm-log", 1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("11-30 06:48:11", "11-31 06:48:11", "'11-31 06:48:11' is no time as MM-DD"),
        ("[1, 2]", "[1, x]", "prompt_token_ids are no whole numbers"),
        ("[1, 2]", f"[{'9' * 5000}]", "prompt_token_ids are no whole numbers"),
    ],
)
def test_a_bad_line_of_a_log_is_named_and_can_be_passed_over(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(vllm_lines([1, 2]).replace(old, new) + vllm_lines([1] * 32), encoding="utf-8")
    with pytest.raises(ConfigError, match="line 2: ") as raised:
        read(path)
    assert says in str(raised.value)
    assert read(path, skip_bad=True).requests == 1


@pytest.mark.parametrize("deep", [0, 1])
def test_a_line_that_is_nested_too_deep_is_a_bad_one(tmp_path: Path, deep: int) -> None:
    lines = [json.dumps({"timestamp": 0, "input_length": 512, "hash_ids": [7]})] * 3
    lines[deep] = '{"hash_ids": ' + "[" * 200_000
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=f"line {deep + 1}: it is no JSON"):
        read(path)
    assert read(path, skip_bad=True).requests == 2


def test_times_that_go_back_are_said(tmp_path: Path) -> None:
    line = {"timestamp": 9000, "input_length": 512, "output_length": 1, "hash_ids": [7]}
    path = write_lines(tmp_path / "trace.jsonl", [line, {**line, "timestamp": 8000}])
    with pytest.raises(ConfigError, match=r"line 2: the time 8 s is before .*sort the trace"):
        read(path)


@pytest.mark.parametrize("text", ["\n", "hello\n", "a,b,c\n1,2,3\n"])
def test_what_is_no_trace_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trace"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="allowed: Mooncake"):
        read(path)


def test_times_that_go_back_are_sorted_on_request(tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"timestamp": time, "input_length": 512, "output_length": 1, "hash_ids": [7]}
        for time in (9000, 8000, 12000)
    ]
    trace = read(write_lines(tmp_path / "trace.jsonl", lines), sort_times=True)
    assert (trace.requests, trace.duration_s, trace.skipped) == (3, 4.0, [])


def test_a_compressed_trace_is_read_like_another(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "trace.jsonl", conversations(1))
    packed = tmp_path / "trace.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert (read(packed).blocks, read(packed).form) == (read(plain).blocks, "mooncake")
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-100])
    with pytest.raises(ConfigError, match="cut off or damaged"):
        read(packed)
    # The check at the end is not that of the lines.
    packed.write_bytes(whole[:-8] + bytes(8))
    with pytest.raises(ConfigError, match="cut off or damaged"):
        read(packed)
    assert read(packed, skip_bad=True).blocks == read(plain).blocks


def test_fields_that_are_not_known_are_said_and_passed_over(tmp_path: Path) -> None:
    line = {"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [7], "user": 1}
    trace = read(write_lines(tmp_path / "trace.jsonl", [line]))
    assert trace.notes == ["line 1 has fields that are not used: user"]
    path = tmp_path / "trace.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens,Region\n1,64,10,eu\n", encoding="utf-8"
    )
    assert read(path).notes == ["there are columns that are not used: region"]


def vllm_lines(*prompts: list[int] | None) -> str:
    text = "(APIServer pid=7) INFO 11-30 06:48:10 [api_server.py:9] serving\n"
    for number, tokens in enumerate(prompts):
        text += (
            f"(APIServer pid=7) DEBUG 11-30 06:48:{11 + number} [request_logger.py:54] Request "
            f"cmpl-{number} details: prompt: 'prompt_token_ids: [1]', prompt_token_ids: {tokens}, "
            "prompt_embeds shape: None.\n"
        )
    return text


def test_vllm_s_log_has_the_prompts_when_it_has_their_tokens(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    first = list(range(40))
    path.write_text(
        vllm_lines(first, [*first, *range(100, 124)], [99, *first[1:]]), encoding="utf-8"
    )
    trace = read(path)
    assert (trace.form, trace.requests, trace.duration_s) == ("vllm-log", 3, 2.0)
    # Two full blocks, four of which two are known, and two that differ by their first token.
    assert (trace.blocks, trace.distinct_blocks) == (8, 6)


def test_vllm_s_log_may_have_the_colours_of_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    text = vllm_lines([*range(40)], [9] * 16)
    text = re.sub(r"\(\S+ pid=7\)", "\x1b[0;36m\\g<0>\x1b[0;0m", text)
    text = re.sub(r"\b(INFO|DEBUG)\b", "\x1b[37m\\g<0>\x1b[0m", text)
    text = re.sub(r"11-30 \S+|\[\w+\.py:\d+\]", "\x1b[90m\\g<0>\x1b[0m", text)
    path.write_text(text.replace("\n", "\r\n"), encoding="utf-8", newline="")
    trace = read(path)
    assert (trace.form, trace.requests, trace.duration_s) == ("vllm-log", 2, 1.0)
    assert (trace.blocks, trace.distinct_blocks) == (3, 3)


@pytest.mark.parametrize(
    "before", ["2026-11-30T20:44:10.123Z stdout F ", "Nov 30 20:44:10 host vllm[77]: ", "[gpu-1] "]
)
def test_vllm_s_log_may_have_come_through_another(tmp_path: Path, before: str) -> None:
    path = tmp_path / "vllm.log"
    lines = vllm_lines([*range(40)], [9] * 16).splitlines(keepends=True)
    path.write_text("".join(before + line for line in lines), encoding="utf-8")
    trace = read(path)
    assert (trace.form, trace.requests, trace.duration_s) == ("vllm-log", 2, 1.0)


def test_vllm_s_log_may_go_on_in_the_next_year(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    days = ("12-31", "01-01", "05-01", "09-01", "12-31", "01-01")
    lines = [vllm_lines([7]).splitlines()[1].replace("11-30", day) for day in days]
    path.write_text("\n".join(lines), encoding="utf-8")
    trace = read(path)
    assert (trace.requests, trace.duration_s) == (6, 367 * 86_400.0)


def test_a_prompt_in_vllm_s_log_that_is_cut_off_is_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    start, cut, whole = vllm_lines([*range(40)], [9] * 16).splitlines()
    path.write_text("\n".join([start, cut[: cut.index("39]")], whole]), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: .*cut off"):
        read(path)
    assert read(path, skip_bad=True).requests == 1


def test_long_lines_of_vllm_s_log_take_no_longer_than_their_length(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    body = "Request 1 JSON body: " + "request a " * 400_000
    path.write_text(vllm_lines([7]).replace("serving", body), encoding="utf-8")
    assert read(path).requests == 1


def test_vllm_s_log_without_tokens_says_how_to_get_them(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_text(vllm_lines(), encoding="utf-8")
    with pytest.raises(ConfigError, match="VLLM_LOGGING_LEVEL=DEBUG"):
        read(path)
    path.write_text(vllm_lines(None), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"line 2: .*no token ids"):
        read(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "absent")
