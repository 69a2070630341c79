// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/target.h"

#include <cstdio>
#include <cstdlib>

namespace exrnic::fuzz {

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"frames-ref", frame_seeds, fuzz_frames_ref},
      {"vfio-user", vfio_user_seeds, fuzz_vfio_user},
      {"nvme", nvme_seeds, fuzz_nvme},
      {"peb", peb_seeds, fuzz_peb},
      {"management", management_seeds, fuzz_management},
      {"connection", connection_seeds, fuzz_connection},
      {"control", control_seeds, fuzz_control},
      {"gdb", gdb_seeds, fuzz_gdb},
      {"profile", profile_seeds, fuzz_profile},
      {"topology", topology_seeds, fuzz_topology},
  };
  return all;
}

void found(const std::string& what) {
  std::fprintf(stderr, "fuzz: found: %s\n", what.c_str());
  std::abort();
}

}  // namespace exrnic::fuzz
