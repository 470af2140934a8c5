"""Whatever the command line says: a result, or one sentence for each mistake; never a traceback."""

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.nowhere import COMMANDS, Nowhere, check_sentences

_FUZZ = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_WORDS = (
    *("", " ", "~", "-", "--", "0", "-1", "1e999", "9" * 30, "1gb", "7EiB", "50%", "101%", "0%"),
    *("5s", "1h", "memory", "ssd", "recent", "lru", "auto", "true", "null", "ab" * 32, "ab"),
    *("/nonexistent", "/nonexistent/a=1gb", "/dev/null", "/dev/full", "/proc/self/mem", "/"),
    *("127.0.0.1:1", "http://127.0.0.1:1", "x=1", "[]", "{}", "\n", "\0", "\udcff", "\u0661"),
)
TEXTS = st.one_of(
    # Without a slash: what is written goes into the test's own directory.
    st.text(st.characters(exclude_characters="/", exclude_categories=[]), max_size=12),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(_WORDS),
)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    """A command with options and values that are its own, more or less."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    options = [opt for param in COMMANDS[name].params for opt in param.opts if opt.startswith("-")]
    own = st.sampled_from([*options, "--help"])
    words = st.one_of(
        TEXTS, own, st.builds("{}={}".format, own, TEXTS), st.sampled_from(["--json", "--yes"])
    )
    return [*name, *draw(st.lists(words, max_size=6))]


@_FUZZ
@given(command_lines())
@example(["status", "--socket", "\udcff"])
@example(["tier", "resize", "memory", "\u0661gb", "--yes"])
@example(["warm", "--namespace", "a\nb"])
@example(["stop", "--timeout", "1e300s"])
@example(["serve", "--socket", "\0"])
@example(["config", "init", "\0"])
@example(["trace", "convert", "\r", ""])
def test_no_command_line_ends_in_a_traceback(nowhere: Nowhere, args: list[str]) -> None:
    check_sentences(nowhere.without_a_daemon(*args))


@_FUZZ
@given(command_lines())
def test_whatever_reaches_a_daemon_is_what_the_schema_allows(
    nowhere: Nowhere, args: list[str]
) -> None:
    check_sentences(nowhere.with_a_daemon(*args))
