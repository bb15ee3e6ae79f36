"""What importing the package does: nothing but define names, in any order, with every warning an error."""

import pkgutil
import subprocess
import sys

import agui_middleware

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(agui_middleware.__path__, "agui_middleware.")
    if not name.endswith("__main__")
)

# Run in an interpreter of its own: what it prints is what an import did beside defining names.
EFFECTS = """
import asyncio, builtins, gc, importlib, logging, os, signal, sys, threading, warnings
{before}
def state():
    root = logging.getLogger()
    return dict(
        threads=threading.active_count(), handlers=list(root.handlers), level=root.level, environ=dict(os.environ),
        hook=sys.excepthook, unraisable=sys.unraisablehook, policy=type(asyncio.get_event_loop_policy()),
        signals=[signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)], filters=list(warnings.filters),
        recursion=sys.getrecursionlimit(), path=list(sys.path), cwd=os.getcwd(), files=len(os.listdir("/proc/self/fd")),
        ours=logging.getLogger("agui_middleware").handlers, open=builtins.open, gc=(gc.isenabled(), gc.get_threshold()),
    )
changed = {{}}
for module in sys.argv[1:]:
    before = state()
    importlib.import_module(module)
    after = state()
    changed |= {{module: name for name in before if before[name] != after[name]}}
print(changed)
"""
DEPENDENCIES = "import anyio, msgspec, pydantic, pydantic_settings, starlette.routing, click, regex, ag_ui.core"


def test_importing_has_no_effect() -> None:
    """Beside what its dependencies do, which are imported first. `-X dev -W error`: no warning either."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", EFFECTS.format(before=DEPENDENCIES), *MODULES]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.stdout.strip(), finished.stderr) == ("{}", "")


def test_the_package_itself_needs_no_extra() -> None:
    """Importing the root, and rewriting, loads neither the command line nor the models of ag-ui-protocol."""
    program = (
        "import sys, agui_middleware\n"
        "agui_middleware.rewrite(b'', client='0.0.36', visibility='hidden')\n"
        "print(sorted({'click', 'ag_ui', 'sse_starlette', 'fastapi', 'uvicorn', 'trio', 'httpx'} & set(sys.modules)))"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.stdout.strip(), finished.stderr) == ("[]", "")
