"""Settings in TOML files. Every error names the file."""

import tomllib
from pathlib import Path
from typing import Any, Final

OWN_FILE: Final = "agui_middleware.toml"
PYPROJECT: Final = "pyproject.toml"
TABLE: Final = ("tool", "agui_middleware")


def read_named(file: Path) -> dict[str, Any]:
    """The settings in `file`, which is a TOML file of settings, or a pyproject.toml with a table `[tool.agui_middleware]`.

    Raises `ValueError` where it cannot be read, is not TOML, or is a pyproject.toml without that table.
    """
    values = _read(file)
    if file.name != PYPROJECT:
        return values
    table = _table(values, file)
    if table is None:
        raise ValueError(f"{file} has no table [{'.'.join(TABLE)}]")
    return table


def read_working_directory() -> tuple[dict[str, Any], dict[str, Path]]:
    """The settings in agui_middleware.toml and, where it does not have them, in pyproject.toml; and the file of each.

    Both files may be absent. Raises `ValueError` as `read_named` does.
    """
    own, shared = Path(OWN_FILE), Path(PYPROJECT)
    values = (_table(_read(shared), shared) or {}) if shared.exists() else {}
    origins = dict.fromkeys(values, shared)
    if own.exists():
        settings = _read(own)
        values, origins = {**values, **settings}, {**origins, **dict.fromkeys(settings, own)}
    return values, origins


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8, as TOML has to be: {error.reason} at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}") from error


def _table(values: dict[str, Any], file: Path) -> dict[str, Any] | None:
    """The table of this package in a pyproject.toml; `None` where there is none."""
    for place, name in enumerate(TABLE):
        if name not in values:
            return None
        table = values[name]
        if not isinstance(table, dict):
            raise ValueError(f"{file}: {'.'.join(TABLE[: place + 1])} is {table!r}, and not a table")
        values = table
    return values
