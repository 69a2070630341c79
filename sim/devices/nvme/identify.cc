// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/identify.h"

#include <array>
#include <cstdio>

#include "exrnic_hw.h"
#include "sim/devices/nvme/image.h"
#include "sim/devices/nvme/nvme.h"

namespace exrnic::nvme {
namespace {

// Of "Identify Controller" (figure 247).
constexpr size_t kVendor = 0;
constexpr size_t kSubsystemVendor = 2;
constexpr size_t kSerial = 4;
constexpr size_t kSerialBytes = 20;
constexpr size_t kModel = 24;
constexpr size_t kModelBytes = 40;
constexpr size_t kFirmware = 64;
constexpr size_t kFirmwareBytes = 8;
constexpr size_t kMaxDataTransfer = 77;
constexpr size_t kVersion = 80;
constexpr size_t kControllerType = 111;
constexpr size_t kAbortLimit = 258;
constexpr size_t kEventRequestLimit = 259;
constexpr size_t kFirmwareUpdates = 260;
constexpr size_t kLogPageAttributes = 261;
constexpr size_t kErrorLogPageEntries = 262;
constexpr size_t kWarningTemperature = 266;
constexpr size_t kCriticalTemperature = 268;
constexpr size_t kSubmissionEntrySize = 512;
constexpr size_t kCompletionEntrySize = 513;
constexpr size_t kNumberOfNamespaces = 516;
constexpr size_t kOptionalCommands = 520;
constexpr size_t kVolatileWriteCache = 525;
constexpr size_t kSubsystemName = 768;
constexpr size_t kMaxPower = 2048;

constexpr uint8_t kIoController = 1;
constexpr uint8_t kOneReadOnlySlot = 1 << 1 | 1;
constexpr uint8_t kLogsHaveOffsets = 1 << 2;
constexpr uint16_t kHasDatasetManagement = 1 << 2;
constexpr uint16_t kHasWriteZeroes = 1 << 3;
constexpr uint8_t kHasWriteCache = 1;
constexpr uint8_t kFlushesEveryNamespace = 3 << 1;
constexpr uint16_t kWarmKelvin = 343;
constexpr uint16_t kHotKelvin = 353;
constexpr uint16_t kMaxPowerCentiwatts = 2500;

// Of "Identify Namespace" (figure 245).
constexpr size_t kSize = 0;
constexpr size_t kCapacity = 8;
constexpr size_t kUtilization = 16;
constexpr size_t kBlockSize = 128 + 2;  // of format 0, its log2

// Of a namespace's descriptors (figure 249).
constexpr uint8_t kUuidDescriptor = 3;
constexpr size_t kDescriptorHead = 4;

using Uuid = std::array<uint8_t, 16>;

// The same for the same serial number and namespace: FNV-1a over both, twice.
Uuid uuid_of(const std::string& serial, uint32_t nsid) {
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = 0xcbf29ce484222325;
  Uuid uuid{};
  const std::string text = serial + '/' + std::to_string(nsid);
  for (size_t half = 0; half < 2; ++half) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * kPrime;
    for (size_t i = 0; i < 8; ++i) uuid[8 * half + i] = static_cast<uint8_t>(hash >> (8 * i));
  }
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x80);  // version 8: of its maker's own making
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

std::string subsystem_name(const std::string& serial) {
  std::string name = "nqn.2014-08.org.nvmexpress:uuid:";
  const Uuid uuid = uuid_of(serial, 0);
  for (size_t i = 0; i < uuid.size(); ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid[i]);
    if (i == 4 || i == 6 || i == 8 || i == 10) name += '-';
    name += digits;
  }
  return name;
}

}  // namespace

std::vector<uint8_t> identify_controller(const std::string& serial, uint32_t namespaces) {
  Image image(kIdentifyBytes);
  image.put<uint16_t>(kVendor, EXRNIC_PCI_VENDOR_ID);
  image.put<uint16_t>(kSubsystemVendor, EXRNIC_PCI_SUBSYSTEM_VENDOR_ID);
  image.put_text(kSerial, kSerialBytes, serial);
  image.put_text(kModel, kModelBytes, "exrnic NVMe");
  image.put_text(kFirmware, kFirmwareBytes, kFirmwareRevision);
  image.put<uint8_t>(kMaxDataTransfer, kMaxTransferShift);
  image.put<uint32_t>(kVersion, kVersion14);
  image.put<uint8_t>(kControllerType, kIoController);
  image.put<uint8_t>(kAbortLimit, kMaxAborts - 1);
  image.put<uint8_t>(kEventRequestLimit, kMaxEventRequests - 1);
  image.put<uint8_t>(kFirmwareUpdates, kOneReadOnlySlot);
  image.put<uint8_t>(kLogPageAttributes, kLogsHaveOffsets);
  image.put<uint8_t>(kErrorLogPageEntries, kErrorLogEntries - 1);
  image.put<uint16_t>(kWarningTemperature, kWarmKelvin);
  image.put<uint16_t>(kCriticalTemperature, kHotKelvin);
  image.put<uint8_t>(kSubmissionEntrySize, kCommandShift << 4 | kCommandShift);
  image.put<uint8_t>(kCompletionEntrySize, kCompletionShift << 4 | kCompletionShift);
  image.put<uint32_t>(kNumberOfNamespaces, namespaces);
  image.put<uint16_t>(kOptionalCommands, kHasDatasetManagement | kHasWriteZeroes);
  image.put<uint8_t>(kVolatileWriteCache, kHasWriteCache | kFlushesEveryNamespace);
  const std::string name = subsystem_name(serial);
  image.put_text(kSubsystemName, name.size(), name);
  image.put<uint16_t>(kMaxPower, kMaxPowerCentiwatts);
  return image.bytes();
}

std::vector<uint8_t> identify_namespace(const NamespaceFile& file) {
  Image image(kIdentifyBytes);
  for (const size_t field : {kSize, kCapacity, kUtilization}) {
    image.put<uint64_t>(field, file.blocks());
  }
  image.put<uint8_t>(kBlockSize, static_cast<uint8_t>(file.block_shift()));
  return image.bytes();
}

std::vector<uint8_t> identify_active_namespaces(uint32_t nsid, uint32_t namespaces) {
  Image image(kIdentifyBytes);
  size_t offset = 0;
  while (nsid < namespaces && offset < kIdentifyBytes) {
    image.put<uint32_t>(offset, ++nsid);
    offset += sizeof nsid;
  }
  return image.bytes();
}

std::vector<uint8_t> identify_namespace_descriptors(const std::string& serial, uint32_t nsid) {
  Image image(kIdentifyBytes);
  image.put<uint8_t>(0, kUuidDescriptor);
  image.put<uint8_t>(1, std::tuple_size<Uuid>::value);
  image.put(kDescriptorHead, uuid_of(serial, nsid));
  return image.bytes();
}

}  // namespace exrnic::nvme
