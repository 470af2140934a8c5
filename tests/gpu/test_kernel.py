"""The kernel in the repository is that of its source."""

from tests.gpu.kernel import PTX, compiled, compiler, head


def test_the_kernel_is_what_its_source_becomes() -> None:
    text = PTX.read_text(encoding="utf-8")
    assert text.startswith(head()), "run python -m tests.gpu.kernel"
    library = compiler()
    assert library is None or text == compiled(library), "run python -m tests.gpu.kernel"
