// SPDX-License-Identifier: BSD-2-Clause
#include "firmware/image/firmware_image.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace exrnic {
namespace {

std::vector<uint8_t> bytes_of(const char* path) {
  FILE* file = fopen(path, "re");
  REQUIRE(file != nullptr);
  std::vector<uint8_t> bytes(100'000);
  bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
  fclose(file);
  return bytes;
}

// What is said of these bytes; "" if nothing.
std::string complaint(const std::vector<uint8_t>& bytes) {
  try {
    parse_firmware_image("x.bin", bytes.data(), bytes.size());
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

bool says(const std::vector<uint8_t>& bytes, const std::string& what) {
  const std::string text = complaint(bytes);
  INFO(text);
  CHECK(text.find("x.bin") == 0);
  return text.find(what) != std::string::npos;
}

void put_word(std::vector<uint8_t>* bytes, size_t offset, uint32_t value) {
  memcpy(bytes->data() + offset, &value, sizeof(value));
}

TEST_CASE("the image that the build makes is good") {
  const FirmwareImage image = read_firmware_image(EXRNIC_FIRMWARE);
  CHECK(image.head.version == FW_VERSION);
  CHECK(image.payload.size() * sizeof(uint32_t) == image.head.length);
}

TEST_CASE("an image of another kind, version or length is refused with what it says") {
  const std::vector<uint8_t> good = bytes_of(EXRNIC_FIRMWARE);
  CHECK(complaint(good).empty());
  std::vector<uint8_t> bad = good;
  put_word(&bad, offsetof(exrnic_fw_image, magic), 0x12345678);
  CHECK(says(bad, "0x12345678"));
  bad = good;
  put_word(&bad, offsetof(exrnic_fw_image, abi_version), 77);
  CHECK(says(bad, "version 77"));
  bad = good;
  bad.push_back(0);
  CHECK(says(bad, "has " + std::to_string(good.size() - sizeof(exrnic_fw_image) + 1)));
  bad = good;
  put_word(&bad, offsetof(exrnic_fw_image, length), 0);
  bad.resize(sizeof(exrnic_fw_image));
  CHECK(says(bad, "0 bytes"));
  put_word(&bad, offsetof(exrnic_fw_image, length), EXRNIC_FW_MEMORY_BYTES + 4);
  bad.resize(sizeof(exrnic_fw_image) + EXRNIC_FW_MEMORY_BYTES + 4);
  CHECK(says(bad, "the processor's memory"));
}

TEST_CASE("an image that ends early is refused wherever it ends") {
  const std::vector<uint8_t> good = bytes_of(EXRNIC_FAULTY_FIRMWARE);
  for (size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(complaint({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}).empty());
}

TEST_CASE("a bit that has changed in an image's payload is found") {
  std::vector<uint8_t> image = bytes_of(EXRNIC_FAULTY_FIRMWARE);
  for (size_t i = sizeof(exrnic_fw_image); i < image.size(); ++i) {
    image[i] ^= static_cast<uint8_t>(1u << i % 8);
    CHECK(says(image, "is damaged"));
    image[i] ^= static_cast<uint8_t>(1u << i % 8);
  }
}

TEST_CASE("a file that cannot be read is named, with its errno") {
  try {
    read_firmware_image("/nonexistent/x.bin");
    FAIL("it was read");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ENOENT);
    CHECK(std::string(error.what()).find("/nonexistent/x.bin") == 0);
  }
  CHECK_THROWS_AS(read_firmware_image("/"), std::system_error);
  CHECK_THROWS_WITH(parse_firmware_image("x", "", 0), "x has 0 bytes: too short for firmware");
}

TEST_CASE("what is no regular file is refused at once, a FIFO that nobody writes to included") {
  std::string folder = std::filesystem::temp_directory_path() / "exrnic-image-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string fifo = folder + "/firmware.bin";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_firmware_image(fifo), fifo + " is no regular file");
  CHECK_THROWS_WITH(read_firmware_image("/dev/zero"), "/dev/zero is no regular file");
  std::filesystem::remove_all(folder);
}

TEST_CASE("the words for a C compiler are those of the image") {
  const uint32_t words[] = {
#include "firmware.words"
  };
  std::vector<uint8_t> bytes(sizeof(words));
  memcpy(bytes.data(), words, sizeof(words));
  CHECK(bytes == bytes_of(EXRNIC_FIRMWARE));
}

}  // namespace
}  // namespace exrnic
