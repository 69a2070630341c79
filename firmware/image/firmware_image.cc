// SPDX-License-Identifier: BSD-2-Clause
#include "firmware/image/firmware_image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace exrnic {

namespace {

constexpr size_t kHead = sizeof(exrnic_fw_image);
constexpr size_t kMostBytes = kHead + EXRNIC_FW_MEMORY_BYTES;

std::string hex(uint32_t value) {
  char text[16];
  snprintf(text, sizeof(text), "0x%08x", value);
  return text;
}

// CRC-32 of IEEE 802.3. Images are small, and read once.
uint32_t checksum(const uint8_t* bytes, size_t size) {
  constexpr uint32_t kPolynomial = 0xedb88320;  // lowest bit first
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
  }
  return ~crc;
}

// What is wrong with it, or an empty text.
std::string complaint(const exrnic_fw_image& head, const uint8_t* payload, size_t length) {
  if (head.magic != EXRNIC_FW_IMAGE_MAGIC) {
    return "starts with " + hex(head.magic) + ", not " + hex(EXRNIC_FW_IMAGE_MAGIC) +
           ": this is no firmware";
  }
  if (head.abi_version != EXRNIC_FW_ABI_VERSION) {
    return "is for version " + std::to_string(head.abi_version) +
           " of the processor's interface, not " + std::to_string(EXRNIC_FW_ABI_VERSION) +
           ": use a pair of one release";
  }
  if (head.length != length || length % sizeof(uint32_t) != 0 || length == 0 ||
      length > EXRNIC_FW_MEMORY_BYTES) {
    return "says that it has " + std::to_string(head.length) + " bytes and has " +
           std::to_string(length) +
           " (the processor's memory: " + std::to_string(EXRNIC_FW_MEMORY_BYTES) + ")";
  }
  const uint32_t crc = checksum(payload, length);
  if (crc == head.crc) return "";
  return "is damaged: checksum " + hex(crc) + ", not " + hex(head.crc);
}

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

FirmwareImage parse_firmware_image(const std::string& name, const void* bytes, size_t size) {
  if (size < kHead) {
    throw std::runtime_error(name + " has " + std::to_string(size) +
                             " bytes: too short for firmware");
  }
  FirmwareImage image;
  memcpy(&image.head, bytes, kHead);
  const uint8_t* payload = static_cast<const uint8_t*>(bytes) + kHead;
  const std::string text = complaint(image.head, payload, size - kHead);
  if (!text.empty()) throw std::runtime_error(name + " " + text);
  image.payload.resize(image.head.length / sizeof(uint32_t));
  memcpy(image.payload.data(), payload, image.head.length);
  return image;
}

FirmwareImage read_firmware_image(const std::string& path) {
  // A FIFO that is opened the usual way holds the program until somebody writes to it.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fd < 0 ? nullptr : fdopen(fd, "r"), fclose);
  struct stat status{};
  if (file == nullptr || fstat(fd, &status) != 0) throw_errno(path);
  if (S_ISDIR(status.st_mode)) throw std::system_error(EISDIR, std::generic_category(), path);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + " is no regular file");
  std::vector<uint8_t> bytes(kMostBytes + 1);  // a byte too many is seen, a gigabyte is not read
  bytes.resize(fread(bytes.data(), 1, bytes.size(), file.get()));
  if (ferror(file.get())) throw_errno(path);
  return parse_firmware_image(path, bytes.data(), bytes.size());
}

}  // namespace exrnic
