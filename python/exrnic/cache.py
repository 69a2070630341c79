# SPDX-License-Identifier: BSD-2-Clause
"""Results by the digest of all that they depend on."""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import shlex

from exrnic.results import Result

_FOLDER = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "exrnic/results"


class Cache:
    """A folder, a file for each result. `folder`: True for the usual one."""

    def __init__(self, folder):
        self._folder = _FOLDER if folder is True else pathlib.Path(folder)

    def get(self, key):
        try:
            return Result.of_json(self._path(key).read_text())
        except (OSError, ValueError, TypeError, KeyError):
            return None  # none, or one of another release

    def put(self, key, result):
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._path(key).with_suffix(f".{os.getpid()}-{id(result)}")
        new.write_text(result.to_json())
        new.replace(self._path(key))

    def _path(self, key):
        return self._folder / f"{key}.json"


def digest(experiment, where):
    """Of the experiment, and of the content of every file that it names: simulator, launcher, programs, profile,
    topology, files for the guests."""
    files = [where.sim, where.profile(experiment.profile), *sorted(where.launcher.glob("*.py"))]
    if experiment.guests:
        files += where.guest_files
        files += [pathlib.Path(os.environ[name]) for name in ("QEMU", "KERNEL") if os.environ.get(name)]
    words = [*_words(experiment.command()), *experiment.launcher, *experiment.simulator]
    words += [name for name in (experiment.topology, experiment.workload) if isinstance(name, str)]
    for word in words:
        # FILE:PATH of --put, --option=FILE
        for part in filter(None, (word, word.partition(":")[0], word.partition("=")[2])):
            files += where.files(part)
    contents = sorted({(str(path), _content(path)) for path in files})
    return hashlib.sha256(json.dumps([dataclasses.asdict(experiment), contents]).encode()).hexdigest()


def _words(command):
    try:
        return shlex.split(command)
    except ValueError:  # which the shell will refuse
        return []


def _content(path):
    try:
        found = path.stat()
    except OSError:
        return ""
    return _file_digest(str(path), found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=None)
def _file_digest(path, _changed, _size):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
