import ast
import re

from tests.readme import README, with_table

_PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_readme_has_the_compatibility_table_of_the_downgrades() -> None:
    """`python -m tests.readme` writes it."""
    assert README.read_text() == with_table(README.read_text())


def test_readme_snippets_run_one_after_the_other() -> None:
    namespace: dict[str, object] = {}
    snippets = _PYTHON.findall(README.read_text())
    for snippet in snippets:
        exec(compile(ast.parse(snippet), "README.md", "exec"), namespace)
    assert len(snippets) >= 3
    assert "app" in namespace
