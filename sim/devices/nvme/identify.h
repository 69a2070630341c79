// SPDX-License-Identifier: BSD-2-Clause
// What the controller says of itself and of its namespaces (5.15).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/devices/nvme/namespace_file.h"

namespace exrnic::nvme {

using Namespaces = std::vector<NamespaceFile>;  // nsid 1 is the first

constexpr char kFirmwareRevision[] = "1";

// All of kIdentifyBytes. Who asks for a namespace sees to it that there is one.
std::vector<uint8_t> identify_controller(const std::string& serial, uint32_t namespaces);
std::vector<uint8_t> identify_namespace(const NamespaceFile& file);
// Those above `nsid`.
std::vector<uint8_t> identify_active_namespaces(uint32_t nsid, uint32_t namespaces);
std::vector<uint8_t> identify_namespace_descriptors(const std::string& serial, uint32_t nsid);

}  // namespace exrnic::nvme
