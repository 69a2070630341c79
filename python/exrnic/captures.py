# SPDX-License-Identifier: BSD-2-Clause
"""Reads what exrnic-sim --capture has written: pcap files with nanoseconds, FCS included."""

import struct

from exrnic.errors import ExrnicError
from exrnic.results import Rows

_NANOSECOND_MAGIC = 0xA1B23C4D  # of pcap(5)
_FILE_HEADER = struct.Struct("<IHHiIII")
_RECORD_HEADER = struct.Struct("<IIII")
_MAC_BYTES = 6


def rows_of(directory):
    """A row for each frame of each file: port, time_ns, bytes, source and destination (MAC addresses)."""
    return Rows(row for path in sorted(directory.glob("*.pcap")) for row in _file_rows(path))


def _file_rows(path):
    content = path.read_bytes()
    if len(content) < _FILE_HEADER.size or _FILE_HEADER.unpack_from(content)[0] != _NANOSECOND_MAGIC:
        raise ExrnicError(f"{path} is no capture of exrnic-sim")
    place = _FILE_HEADER.size
    while place + _RECORD_HEADER.size <= len(content):
        seconds, nanoseconds, captured, length = _RECORD_HEADER.unpack_from(content, place)
        place += _RECORD_HEADER.size
        frame = content[place:place + captured]
        place += captured
        yield {"port": path.stem, "time_ns": seconds * 10**9 + nanoseconds, "bytes": length,
               "source": frame[_MAC_BYTES:2 * _MAC_BYTES].hex(":"), "destination": frame[:_MAC_BYTES].hex(":")}
