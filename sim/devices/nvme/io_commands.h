// SPDX-License-Identifier: BSD-2-Clause
// The commands of I/O queues: NVM command set (6).
#pragma once

#include "sim/devices/nvme/identify.h"
#include "sim/devices/nvme/logs.h"
#include "sim/devices/nvme/nvme.h"
#include "sim/pcie/host_port.h"

namespace exrnic::nvme {

class IoCommands {
 public:
  // All outlive it.
  IoCommands(HostPort& host, Namespaces& namespaces, Traffic& traffic)
      : host_(host), namespaces_(namespaces), traffic_(traffic) {}

  // Without a write cache what is written is on the disk when its command is done.
  Result execute(const Command& command, bool write_cache);
  // What every namespace has in caches goes to its disk.
  Status flush_all();

 private:
  Status flush(const Command& command);
  Status read(const Command& command);
  Status write(const Command& command, bool write_cache);
  Status write_zeroes(const Command& command, bool write_cache);
  Status dataset_management(const Command& command);

  NamespaceFile* find(uint32_t nsid);
  Status keep(NamespaceFile& file, const Command& command, bool write_cache);
  Status media_error(Status status);

  HostPort& host_;
  Namespaces& namespaces_;
  Traffic& traffic_;
};

}  // namespace exrnic::nvme
