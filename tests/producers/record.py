"""Keeps what the installed producers send to @ag-ui/client 1.0.0: `python -m tests.producers.record [PRODUCER…]`.

With `--check` nothing is written; the recordings that would change are named.
"""

import argparse
import asyncio

from tests.clients.client import Clients
from tests.clients.corpus import REFERENCE
from tests.producers.apps import installed, scenarios
from tests.producers.recordings import recorded
from tests.producers.scenario import converse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("producers", nargs="*", default=installed(), metavar="PRODUCER")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with Clients() as clients:
        for producer in options.producers:
            for name, scenario in scenarios(producer).items():
                exchanges = asyncio.run(converse(scenario, clients(REFERENCE)))
                for recording in recorded(producer, name, exchanges):
                    kept = recording.path.read_bytes() if recording.path.exists() else None
                    if kept != recording.dump():
                        print(f"{recording.name}: {'changed' if kept else 'new'}")
                        if not options.check:
                            recording.path.parent.mkdir(parents=True, exist_ok=True)
                            recording.path.write_bytes(recording.dump())


if __name__ == "__main__":
    main()
