"""`python -m kafka_conformance` is the console script `kafka-conformance`."""

from __future__ import annotations

from kafka_conformance import main

if __name__ == "__main__":
    main()
