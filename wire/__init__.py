"""The codec of Kafka's protocol: bytes to messages and back, without I/O.

Other projects may import the modules in `__all__`; docs/use-as-a-library.md shows how. The other modules are inside:
they serve this suite alone, and may change at any time.
"""

__all__ = [
    "api_keys",
    "api_versions",
    "codec",
    "error_codes",
    "errors",
    "exchange",
    "fields",
    "frames",
    "header_versions",
    "headers",
    "message_schemas",
    "plain_header",
    "primitives",
    "sasl",
]
