// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/logs.h"

#include "sim/devices/nvme/identify.h"
#include "sim/devices/nvme/image.h"

namespace exrnic::nvme {
namespace {

constexpr size_t kErrorBytes = 64;
constexpr size_t kPageOfHealthBytes = 512;
constexpr size_t kPageOfFirmwareBytes = 512;
constexpr uint16_t kKelvin = 303;
constexpr uint8_t kSparePercent = 100;
constexpr uint8_t kLeastSparePercent = 10;
constexpr uint64_t kDataUnit = 512 * 1000;  // bytes
constexpr uint16_t kNoPlace = 0xffff;       // of the parameter that was wrong

uint64_t data_units(uint64_t bytes) { return (bytes + kDataUnit - 1) / kDataUnit; }

}  // namespace

void Logs::add_error(uint16_t queue, uint16_t command, uint16_t status_field, uint32_t nsid) {
  errors_.push_front({++errors_ever_, queue, command, status_field, nsid});
  if (errors_.size() > kErrorLogEntries) errors_.pop_back();
}

std::vector<uint8_t> Logs::errors_page() const {
  Image image(kErrorLogEntries * kErrorBytes);
  size_t at = 0;
  for (const Error& error : errors_) {
    image.put<uint64_t>(at, error.number);
    image.put<uint16_t>(at + 8, error.queue);
    image.put<uint16_t>(at + 10, error.command);
    image.put<uint16_t>(at + 12, error.status_field);
    image.put<uint16_t>(at + 14, kNoPlace);
    image.put<uint32_t>(at + 24, error.nsid);
    at += kErrorBytes;
  }
  return image.bytes();
}

std::vector<uint8_t> Logs::health_page() const {
  Image image(kPageOfHealthBytes);
  image.put<uint16_t>(1, kKelvin);
  image.put<uint8_t>(3, kSparePercent);
  image.put<uint8_t>(4, kLeastSparePercent);
  image.put<uint64_t>(32, data_units(traffic.bytes_read));
  image.put<uint64_t>(48, data_units(traffic.bytes_written));
  image.put<uint64_t>(64, traffic.reads);
  image.put<uint64_t>(80, traffic.writes);
  image.put<uint64_t>(112, starts);
  image.put<uint64_t>(144, sudden_ends);
  image.put<uint64_t>(160, traffic.media_errors);
  image.put<uint64_t>(176, errors_ever_);
  return image.bytes();
}

std::vector<uint8_t> Logs::page(LogPage page) const {
  switch (page) {
    case LogPage::kError:
      return errors_page();
    case LogPage::kHealth:
      return health_page();
    case LogPage::kFirmware: {
      Image image(kPageOfFirmwareBytes);
      image.put<uint8_t>(0, 1);  // slot 1 is active
      image.put_text(8, 8, kFirmwareRevision);
      return image.bytes();
    }
  }
  return {};
}

}  // namespace exrnic::nvme
