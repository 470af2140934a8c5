"""Two vLLM engines on one host share one cache: what the first computed, the second loads.

    python examples/share_between_engines.py MODEL [--python PATH] [-- VLLM-ARGUMENTS]

Starts a daemon and two engines, asks both for the same long prompt, one after the other, prints
what each of them computed and loaded, and ends all three.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

PROMPT = " ".join(f"Rule {number}: answer in one sentence." for number in range(120))
PEGAFLOW = str(Path(sys.executable).with_name("pegaflow"))
POOL_SIZE = "1GiB"
START_S = 600.0
STOP_S = 60.0


def start(stack: ExitStack, command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start a command that ends, at the latest, with this script."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    stack.callback(process.wait, STOP_S)
    stack.callback(process.send_signal, signal.SIGTERM)
    return process


def wait_ready(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    """Wait until an engine answers, or raise ``SystemExit`` when it has ended."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"the engine has ended; its log is\n{said[-4000:]}")
        try:
            if httpx.get(f"{url}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise SystemExit(f"the engine does not answer within {START_S:g} s")


def wait_saved(socket: str) -> None:
    """Wait until the daemon has what an engine computed: saves go on behind an answer's back."""
    status = [PEGAFLOW, "status", "--socket", socket, "--json"]
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        document = json.loads(subprocess.check_output(status))
        if document["saves"]["blocks"] and not document["saves"]["in_flight"]:
            return
    raise SystemExit(f"nothing was saved within {STOP_S:g} s; see `pegaflow status`")


def ask(url: str, model: str) -> float:
    """One completion; how many seconds it took."""
    body = {"model": model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    began = time.perf_counter()
    httpx.post(f"{url}/v1/completions", json=body, timeout=300, trust_env=False).raise_for_status()
    return time.perf_counter() - began


def counter(url: str, name: str) -> int:
    """One of vLLM's counters."""
    text = httpx.get(f"{url}/metrics", trust_env=False).text
    families = text_string_to_metric_families(text)
    samples = (sample for family in families for sample in family.samples)
    return sum(int(sample.value) for sample in samples if sample.name == name)


def share(model: str, python: str, arguments: Sequence[str], ports: Sequence[int]) -> None:
    """Run the example."""
    with tempfile.TemporaryDirectory(prefix="pegaflow-") as directory, ExitStack() as stack:
        socket = f"{directory}/daemon.sock"
        serve = [PEGAFLOW, "serve", "--socket", socket, "--pool-size", POOL_SIZE, "--detach"]
        stop = [PEGAFLOW, "stop", "--socket", socket, "--purge"]
        subprocess.run(serve, check=True)
        stack.callback(subprocess.run, stop, check=True)
        engines = []
        for port in ports:
            vllm = [PEGAFLOW, "vllm", "--socket", socket, "--python", python, "--", model]
            log = Path(directory) / f"{port}.log"
            command = [*vllm, "--port", str(port), *arguments]
            engines.append((f"http://127.0.0.1:{port}", start(stack, command, log), log))
        for url, process, log in engines:
            print(f"waiting for the engine at {url}")
            wait_ready(url, process, log)
        for url, _, _ in engines:
            seconds = ask(url, model)
            wait_saved(socket)
            prompt = counter(url, "vllm:prompt_tokens_total")
            loaded = counter(url, "vllm:external_prefix_cache_hits_total")
            print(
                json.dumps(
                    {
                        "engine": url,
                        "prompt_tokens": prompt,
                        "loaded_tokens": loaded,
                        "seconds": round(seconds, 3),
                    }
                )
            )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="a Hub name or a directory")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has vLLM")
    parser.add_argument("--ports", nargs=2, type=int, default=[8001, 8002])
    own, arguments = sys.argv[1:], []
    if "--" in own:
        own, arguments = own[: own.index("--")], own[own.index("--") + 1 :]
    parsed = parser.parse_args(own)
    share(parsed.model, parsed.python, arguments, parsed.ports)


if __name__ == "__main__":
    main()
