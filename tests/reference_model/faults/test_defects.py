"""Planted defects: each describes its effect, and never crashes."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import cast

import pytest

from reference_model.broker.model.fault_injection import RequestContext
from reference_model.broker.model.state_machine import ReferenceBroker
from reference_model.faults.broker import DEFECTS, Defect
from reference_model.profiles.profile import KIP_TEXT, NEWEST_RELEASE, profile_of
from strategies.api_versions import build_request
from strategies.field_values import Software
from strategies.other_apis import METADATA
from tests.reference_model.broker.release_lines import IDENTITY
from wire.frames import encode_frame

each_defect = pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)


@each_defect
def test_defect_says_what_it_does(defect: Defect) -> None:
    """A defect has its function's name, and the first line of its docstring as its description."""
    act = defect.tampering.act
    assert defect.name == act.__name__.replace("_", "-")
    assert DEFECTS[defect.name] is defect
    assert defect.description == (inspect.getdoc(act) or "").splitlines()[0]
    assert defect.description.endswith(".")
    assert "\n" not in defect.description


FLEXIBLE = "0012 0003 00000007"
REPLACED_NAME = b"_" + b"\xff" * 20000
"""Decoded with replacement characters, it is longer than the maximum length of a string."""


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            encode_frame(bytes.fromhex(f"{FLEXIBLE} 0001 61 00 a29c01 {REPLACED_NAME.hex()} 0231 00")),
            id="name-that-grows",
        ),
        pytest.param(encode_frame(bytes.fromhex(f"{FLEXIBLE} 0001 61 00 00 0231 00")), id="null-name"),
        pytest.param(2 * METADATA.data, id="another-api"),
        pytest.param(build_request(version=1, client_id="a" * 40).data, id="long-client-id"),
        pytest.param(
            build_request(version=3).data + build_request(version=3, software=Software("-", "1")).data,
            id="name-that-is-refused-later",
        ),
    ],
)
def test_no_defect_crashes(data: bytes) -> None:
    """A broker with a defect does not raise where one did once; mutation sends each of them many other requests."""
    profile = profile_of(NEWEST_RELEASE, follows=KIP_TEXT)
    for defect in DEFECTS.values():
        tampering = defect.tampering
        broker = ReferenceBroker(profile=profile, identity=IDENTITY, tampering=tampering)
        broker.connect().receive_data(data)


def test_connection_remembers_what_was_so_once() -> None:
    connection = SimpleNamespace(connection=SimpleNamespace(memory={}))
    context = cast(RequestContext, connection)
    seen = [RequestContext.has_seen(context, "x", now=now) for now in (True, False, False)]
    assert seen == [False, True, True]
