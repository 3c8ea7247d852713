"""Reads pages of metrics of brokers, from files or over HTTP.

A page is that of the JMX exporter or an answer of Jolokia. A metric has no client ids and no addresses. So a row of the
report stands for all programs with the same software, or for all programs of the brokers where the software is not
counted.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from fixtures.cleanup.unwaited_threads import UnwaitedThreads
from reference_model.profiles.known_apis import known_apis
from reports.command_line.extras import REPORTS, check_extra
from reports.wording.escaping import cut, one_line
from reports.wording.verdict_labels import some_of
from upgrade.prediction.observed_requests import ClientIdentity, ObservedRequests, UnusableSource
from upgrade.request_kinds import BROKERS_LEFT_OUT, is_between_brokers
from upgrade.traffic_files.metrics_pages import CountedRequest, read_page
from wire.api_keys import API_VERSIONS_KEY

LIMITS = (
    "a metric counts what a broker has served since it started: a request in a version that the broker refuses costs its "
    "connection and is not counted",
    "a metric does not say which program sent a request: no client id, no address, no user; only for versions that the "
    "broker's release calls deprecated, which there are in 3.7 to 3.9, does it name the software",
)
MAX_PAGE_BYTES = 64 * 1024 * 1024
"""A broker with 10,000 partitions shows about 20 MB; its counts of requests need less than 1 MB."""
READ_LIMIT_S = 60.0
"""How long a page may take; the exporter's needs seconds on a broker with many partitions."""
SILENCE_LIMIT_S = 20.0
"""How long a server may send nothing, before the page and inside it."""
_CHUNK_BYTES = 256 * 1024
_FETCHED_BYTES = 1024
_CREDENTIALS = re.compile(r"(?<=://)[^/]*@")
"""A user and a password in an address, which no sentence repeats."""
_ONLY_REQUESTS = "read/kafka.network:type=RequestMetrics,name=*RequestsPerSec,*"
"""What Jolokia is asked for."""
_LIST_CONFIG_RESOURCES = "ListConfigResources"
_OLD_NAME_OF_LIST_CONFIG_RESOURCES = "ListClientMetricsResources"
"""Brokers that know the new name count v0 under both."""
_SHOWN_CHARACTERS = 40
_MAX_NAMED = 5
_UNKNOWN_APIS = "requests left out because no release of Kafka has an API of that name"
_NAMES = {
    "FetchConsumer": "Fetch",
    "ElectPreferredLeaders": "ElectLeaders",
    "Offsets": "ListOffsets",
    _OLD_NAME_OF_LIST_CONFIG_RESOURCES: _LIST_CONFIG_RESOURCES,
}
"""Names of metrics and of older releases to names of APIs."""
_NO_ADDRESS = "it is no address of a web page"
_REASONS = {
    "ConnectionError": "nothing answers there",
    "ConnectTimeout": "nothing answers there",
    "ReadTimeout": "it does not answer in time",
    "ChunkedEncodingError": "the page ended too early",
    "SSLError": "its certificate is not trusted; fetch the page into a file",
    "InvalidURL": _NO_ADDRESS,
    "InvalidSchema": _NO_ADDRESS,
    "MissingSchema": _NO_ADDRESS,
}
"""Names of the errors of a request to what they mean."""
_FETCH, _PARTS_OF_FETCH = "Fetch", frozenset({"FetchConsumer", "FetchFollower"})
"""A broker counts a Fetch as one of the parts as well; a page may lack these."""
_COUNTED_ELSEWHERE = frozenset({_FETCH, "FetchFollower", "AddPartitionsToTxnVerification"})
"""Fetch is the sum of its parts; the others are requests of brokers."""


def read_metrics(sources: Sequence[str], observed: ObservedRequests) -> list[str]:
    """Read pages of metrics into observed requests.

    Args:
        sources: one for each broker: a file, or an address that begins with `http://` or `https://`. Jolokia's base
            address will do.
        observed: gets the requests.

    Returns:
        Sentences about what metrics cannot show, and what was left out.

    Raises:
        UnusableSource: one of them cannot be read, is no page of metrics or a part of one, or counts no requests.
    """
    sentences = dict.fromkeys(LIMITS)
    for source in sources:
        sentences |= dict.fromkeys(add_counted(_requests_of(source), observed))
    return list(sentences)


def add_counted(counted: Mapping[CountedRequest, int], observed: ObservedRequests) -> list[str]:
    """Add what a broker's page counts to observed requests, and return sentences about what was left out."""
    counted_elsewhere = set(_COUNTED_ELSEWHERE)
    names = {each.request for each in counted}
    if _LIST_CONFIG_RESOURCES in names:
        counted_elsewhere.add(_OLD_NAME_OF_LIST_CONFIG_RESOURCES)
    if not _PARTS_OF_FETCH & names:
        counted_elsewhere.remove(_FETCH)
    counted_here = {each: times for each, times in counted.items() if each.request not in counted_elsewhere}
    most_exact: dict[tuple[int | None, int], tuple[bool, bool]] = {}
    for count in counted_here:
        request = _request(count)
        most_exact[request] = max(_exactness(count), most_exact.get(request, (False, False)))
    newest = _newest_served(counted)
    left_out: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for count, times in counted_here.items():
        api_key, api_version = _request(count)
        if api_key is None:
            unknown[cut(one_line(count.request), _SHOWN_CHARACTERS)] = None
            continue
        if is_between_brokers(api_key, api_version):
            left_out[BROKERS_LEFT_OUT] = None
            continue
        observed.note_served(api_key, api_version, newest[api_key])
        # Whoever asks for versions finds out by itself which version of ApiVersions is served.
        if api_key != API_VERSIONS_KEY and _exactness(count) == most_exact[api_key, api_version]:
            software = count.software_name, count.software_version
            observed.add(ClientIdentity(None, "", None, *software, is_group=True), api_key, api_version, times)
    if unknown:
        left_out[f"{_UNKNOWN_APIS}: {some_of(list(unknown), _MAX_NAMED)}"] = None
    return list(left_out)


def _exactness(counted: CountedRequest) -> tuple[bool, bool]:
    """Return how much a count says about its request; only the greatest value counts, so that no request counts twice.

    A count with the software says most. Without it, the metric of all requests says more than that of deprecated ones,
    if an exporter leaves out the labels of the software.
    """
    return counted.software_name is not None, not counted.is_deprecated


def _newest_served(counted: Iterable[CountedRequest]) -> Mapping[int | None, int]:
    """Return the newest version of each API that a broker is known to serve.

    It serves what it counts. A version that it calls deprecated has a newer one.
    """
    newest: dict[int | None, int] = {}
    for count in counted:
        api_key, api_version = _request(count)
        newest[api_key] = max(newest.get(api_key, 0), api_version + count.is_deprecated)
    return newest


def _request(counted: CountedRequest) -> tuple[int | None, int]:
    """Return the API key and version of a request; None for an API that Kafka has in no release."""
    return _keys().get(_NAMES.get(counted.request, counted.request)), counted.api_version


@cache
def _keys() -> Mapping[str, int]:
    return {api.name: key for key, api in known_apis().items()}


def _requests_of(source: str) -> Counter[CountedRequest]:
    is_address = source.startswith(("http://", "https://"))
    shown = _CREDENTIALS.sub("", source)
    try:
        page = _fetched_in_time(source) if is_address else b"".join(_read(Path(source)))
        counted = read_page(page)
    except OSError as error:
        raise UnusableSource(f"cannot read the metrics {shown}: {error.strerror or error}") from error
    except ValueError as error:
        raise UnusableSource(f"{shown} {error}") from error
    if not counted:
        raise UnusableSource(
            f"{shown} counts no requests: it lacks RequestsPerSec with a version, which brokers have since 2.0; "
            "see whether rules of the exporter leave it out"
        )
    return counted


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _limited(iter(partial(file.read, _CHUNK_BYTES), b""))


def _fetched_in_time(address: str) -> bytes:
    """Return the page at an address, or give up after `READ_LIMIT_S`, however slowly its bytes come.

    The limits of `requests` begin again with each byte. So a thread fetches the page, and ends with the program.

    Raises:
        OSError: there is none.
        ValueError: it is too large or too slow; to be read after the address.
    """
    try:
        return UnwaitedThreads(1).submit(lambda: b"".join(_fetched(address))).result(READ_LIMIT_S)
    except TimeoutError:
        raise ValueError(f"takes longer than {READ_LIMIT_S:g} s; fetch the page into a file") from None


def _fetched(address: str) -> Iterator[bytes]:
    """Yield the page at an address.

    Raises:
        OSError: there is none.
        ValueError: it is too large or too slow; to be read after the address.
    """
    check_extra(REPORTS, "watch with the address of metrics")
    # It takes a twentieth of a second, and files are read without it.
    import requests  # noqa: PLC0415

    base = address.rstrip("/")
    asked = f"{base}/{_ONLY_REQUESTS}" if base.endswith("/jolokia") else address
    until = time.monotonic() + READ_LIMIT_S
    try:
        with requests.get(asked, stream=True, timeout=SILENCE_LIMIT_S) as response:
            if not response.ok:
                raise ValueError(f"has no metrics: it answered with status {response.status_code}")
            try:
                for chunk in _limited(response.iter_content(_FETCHED_BYTES)):
                    if time.monotonic() > until:
                        raise ValueError(f"takes longer than {READ_LIMIT_S:g} s; fetch the page into a file")
                    yield chunk
            except requests.ConnectionError as error:
                raise OSError(f"it sent nothing for {SILENCE_LIMIT_S:g} s in the middle of the page") from error
    except requests.RequestException as error:
        # Its text may repeat the address, with the password.
        raise OSError(_REASONS.get(type(error).__name__, "it cannot be fetched")) from error


def _limited(chunks: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_PAGE_BYTES:
            raise ValueError(
                f"is larger than {MAX_PAGE_BYTES // 2**20} MiB; leave out what is not about requests, for example with grep -i RequestMetrics"
            )
        yield chunk
