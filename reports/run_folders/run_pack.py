"""A pack: one file with a complete run, for a grid that somebody else publishes.

It is a zip archive of what a run folder has, without what follows from the rest: a failure's scripts, captures and
dumps. So whoever takes it in neither runs nor publishes a stranger's script. Machines are left out as well, because no
run stores the exchanges that they were learned from. `pack.json` lists the SHA-256 of each member. The same run makes
the same bytes.

This module reads and writes the file. `conformance.packs` judges the run in it again before it counts.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reports.records import FACTS_FILE, HEADER_FILE
from reports.run_folders.refusal_reasons import INVALID_PACK
from reports.run_folders.refused_runs import RunRefused
from reports.run_folders.run_limits import MAX_FILE_BYTES, MAX_FILES, MAX_FOLDER_BYTES, limit
from wire.foreign_json import read_foreign_json

PACK_FORMAT = 1
"""Version of this layout. Readers refuse a version that they do not know."""
MANIFEST = "pack.json"
"""The first member: `pack_format`, and `members`, which has the SHA-256 of each other member by its name."""
_MEMBER = re.compile(
    r"(?:examples|exchanges|answers)/[\w-]+\.parquet"
    rf"|failures/[0-9a-f]+/{re.escape(FACTS_FILE)}",
    re.ASCII,
)
_ZIP_BEGINS = b"PK\x03\x04"
_MIN_YEAR = (1980, 1, 1, 0, 0, 0)
"""The oldest time that a zip archive can state: the same for all members, so that equal runs make equal packs."""
_PLAIN_FILE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3
_ENCRYPTED = 0x1
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_packed(name: str) -> bool:
    """Return whether a pack has a file of a run, named below its folder and with slashes.

    A pack has the rows and the facts of failures. Everything else of a failure follows from its facts.
    """
    return _MEMBER.fullmatch(name) is not None


def write_pack(run: Path, header: Mapping[str, Any], out: Path) -> None:
    """Write the pack of a run, in place of a file that is there.

    Args:
        run: the run folder.
        header: its header, as `reports.run.run_folder.read_run_header` returns it.
        out: the file.

    Raises:
        RunRefused: the run is of an older suite that hashed nothing, so its files cannot be checked.
        OSError: the file cannot be written.
    """
    listed = header["footer"].get("files")
    if not listed:
        raise RunRefused(run, *INVALID_PACK.fault("its run.json lists no hashes of its files; judge again"))
    names = [HEADER_FILE, *sorted(filter(is_packed, listed))]
    contents = {name: (run / name).read_bytes() for name in names}
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    manifest = json.dumps({"pack_format": PACK_FORMAT, "members": hashes}, indent=1) + "\n"
    unfinished = out.with_name(f"{out.name}.unfinished")
    try:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, content in {MANIFEST: manifest.encode(), **contents}.items():
                archive.writestr(_plain_member(name), content)
        unfinished.replace(out)
    finally:
        unfinished.unlink(missing_ok=True)


def _plain_member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _MIN_YEAR)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.create_system = _UNIX
    member.external_attr = _PLAIN_FILE
    return member


def unpack(pack: Path, folder: Path) -> None:
    """Write the members of a pack into a folder, each after its SHA-256 was compared with the list.

    Nothing is written outside of the folder, and no more than the limits of run folders allow. Whether the files are
    those of a run that counts is for `reports.run.run_folder` to say.

    Args:
        pack: the file, of a stranger perhaps.
        folder: a folder that does not exist.

    Raises:
        RunRefused: it is no pack, or not as it was written; one sentence says why.
        OSError: the folder cannot be written to.
    """
    try:
        size = pack.stat().st_size
        # Its list of members is in memory before the first check, and may be all of it.
        if size > MAX_FILE_BYTES:
            raise _Refused(f"it has {size:,} bytes; {limit(MAX_FILE_BYTES, 'bytes')}")
        with _opened(pack) as archive:
            members = _checked_members(archive)
            listed = _listed_hashes(archive, members)
            for name, sha256 in listed.items():
                content = _content(archive, members[name])
                if hashlib.sha256(content).hexdigest() != sha256:
                    raise _Refused(f"{name} has another SHA-256 than {MANIFEST} lists")
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    except _Refused as error:
        raise RunRefused(pack, *INVALID_PACK.fault(str(error))) from error


class _Refused(Exception):
    """A pack is refused; the message is the reason as a sentence."""


def _opened(pack: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(pack)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        with pack.open("rb") as file:
            begins_right = file.read(len(_ZIP_BEGINS)) == _ZIP_BEGINS
        what = "it is cut off, or damaged at its end" if begins_right else "it is no pack"
        raise _Refused(f"{what}: give a file that `kafka-conformance pack` wrote, or a run folder") from error


def _checked_members(archive: zipfile.ZipFile) -> Mapping[str, zipfile.ZipInfo]:
    """Return the members by name, after checks of everything that the list at the archive's end announces."""
    members = archive.infolist()
    if len(members) > MAX_FILES:
        raise _Refused(f"it has {len(members):,} members; {limit(MAX_FILES)}")
    total = sum(member.file_size for member in members)
    if total > MAX_FOLDER_BYTES:
        raise _Refused(f"its members have {total:,} bytes together; {limit(MAX_FOLDER_BYTES, 'bytes')}")
    by_name: dict[str, zipfile.ZipInfo] = {}
    for member in members:
        for reason in _faults_of(member, by_name):
            raise _Refused(reason)
        by_name[member.filename] = member
    return by_name


def _faults_of(member: zipfile.ZipInfo, seen: Mapping[str, zipfile.ZipInfo]) -> Iterator[str]:
    name = member.filename
    # Some writers leave out what kind of file it is.
    kind = stat.S_IFMT(member.external_attr >> 16)
    if name in seen:
        yield f"it has {name} twice"
    # The name as it was written: Python's own ends at a null byte.
    written = member.orig_filename
    if written.startswith("/") or "\\" in written or ".." in written.split("/") or ":" in written:
        yield f"the name {written!r} leads out of its folder"
    if kind not in (0, stat.S_IFREG):
        yield f"{name} is a link or another special file, and no plain file"
    if name not in (MANIFEST, HEADER_FILE) and not is_packed(written):
        yield f"{written!r} is none of the files of a run"
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _COMPRESSIONS:
        yield f"{name} is encrypted, or compressed in a way that `kafka-conformance pack` does not use"
    if member.file_size > MAX_FILE_BYTES:
        yield f"{name} has {member.file_size:,} bytes; {limit(MAX_FILE_BYTES, 'bytes')}"


def _listed_hashes(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Mapping[str, str]:
    """Return the SHA-256 of each member, which the manifest lists."""
    if MANIFEST not in members:
        raise _Refused(f"it is no pack, because it has no {MANIFEST}: give a file that `kafka-conformance pack` wrote")
    try:
        manifest = read_foreign_json(_content(archive, members[MANIFEST]))
        version, listed = manifest["pack_format"], dict(manifest["members"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _Refused(f"{MANIFEST} is no list of members") from error
    if version != PACK_FORMAT:
        raise _Refused(f"its pack_format is {version!r:.40}; this version of the suite reads only {PACK_FORMAT}")
    if missing := sorted(map(str, {HEADER_FILE, *listed} - members.keys())):
        raise _Refused(f"{missing[0]!r:.200} is missing, which {MANIFEST} lists, or which every run has")
    if added := sorted(members.keys() - {MANIFEST, *listed}):
        raise _Refused(f"{added[0]} is there, but {MANIFEST} does not list it")
    return listed


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member, at most as many as it announces."""
    try:
        with archive.open(member) as file:
            content = file.read(member.file_size)
            # Its checksum is compared where it ends.
            surplus = file.read(1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, RuntimeError) as error:
        # An OSError is that of a place before the beginning of the file.
        raise _Refused(f"{member.filename} is damaged, or larger than it announces") from error
    if len(content) != member.file_size or surplus:
        raise _Refused(f"{member.filename} is damaged, or smaller than it announces")
    return content
