# SPDX-License-Identifier: BSD-2-Clause
"""Synchronised time: what simulator and guests are told so that they share one clock.

The simulator makes the clock's file in the launch's folder; each QEMU counts instructions (-icount) and
has our plugin. What else of a guest would follow the wall clock is fixed: its date, its random numbers.
"""

import dataclasses
import json
import os
import pathlib
import subprocess

from errors import LaunchError
import guest

_CLOCK = "time.clock"

# Counted instruction by instruction, REP MOVSB copies a byte in a nanosecond and is slow to emulate: neither
# kernel nor libc shall think it fast.
_CPU = "max,erms=off,fsrm=off,fsrs=off,fzrm=off"
_PROFILES = pathlib.Path(__file__).resolve().parents[1] / "profile/profiles"


@dataclasses.dataclass
class Sync:
    """Of one launch. `instruction_ns`: what an instruction takes, a power of two."""

    plugin: pathlib.Path
    instruction_ns: int = 1

    def sim_arguments(self):
        return ["--time", f"sync:{_CLOCK}"]

    def qemu_arguments(self, node, other=None, index=None):
        """`other`: the guest at the other end of the second serial port. `index`: of this one among those of its
        simulator, if that has not all."""
        line = f",line={guest.CHANNEL}:{other}" if other is not None else ""
        shift = self.instruction_ns.bit_length() - 1
        return ["-accel", "tcg,thread=single", "-cpu", _CPU,
                "-icount", f"shift={shift},sleep=off",
                "-plugin", f"{self.plugin},clock={_CLOCK},guest={node if index is None else index}{line}",
                "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", str(node + 1)]

    def check(self, qemu, accelerator):
        """Raises LaunchError for what QEMU itself would refuse less clearly, or not at all."""
        if accelerator != "tcg":
            raise LaunchError(f"TIME=sync counts a guest's instructions, which ACCEL={accelerator} "
                              "cannot: use ACCEL=tcg, or TIME=free")
        if not self.plugin.is_file():
            raise LaunchError(f"there is no plugin at {self.plugin} (\"make build\" makes it)")
        usage = subprocess.run([qemu, "--help"], capture_output=True, text=True, check=False).stdout
        if "-plugin " not in usage:
            raise LaunchError(f"{qemu} was built without plugins, which TIME=sync needs: use a "
                              "QEMU configured with --enable-plugins, such as Debian's")


def of_profile(name, plugin):
    """`name`: as exrnic-sim's --profile. A profile that cannot be read is exrnic-sim's to refuse."""
    is_path = os.sep in name or name.endswith(".json")
    path = pathlib.Path(name) if is_path else _PROFILES / f"{name}.json"
    try:
        text = path.read_text() if path.is_file() else ""  # a FIFO would be waited for
        instruction_ns = int(json.loads(text)["host"]["instruction_ns"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        instruction_ns = 1
    return Sync(plugin, max(1, instruction_ns))
