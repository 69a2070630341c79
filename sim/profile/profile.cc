// SPDX-License-Identifier: BSD-2-Clause
#include "sim/profile/profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sim/files/strict_object.h"

namespace exrnic {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".json";
constexpr char kBackToBack[] = "back-to-back";
constexpr char kSwitch[] = "switch";
constexpr char kStoreAndForward[] = "store-and-forward";
constexpr char kCutThrough[] = "cut-through";
constexpr char kNone[] = "none";
constexpr char kCredits[] = "credits";

// Beside the installed program, else in the source tree that it was built from.
fs::path profile_dir() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path() / ".." / EXRNIC_PROFILE_INSTALL_DIR;
  if (!error && fs::is_directory(installed, error)) return installed;
  return EXRNIC_PROFILE_SOURCE_DIR;
}

fs::path find_profile(const std::string& name_or_path) {
  const bool is_path = name_or_path.find('/') != std::string::npos ||
                       fs::path(name_or_path).extension() == kExtension;
  if (is_path) return name_or_path;
  const std::vector<std::string> names = profile_names();
  if (std::count(names.begin(), names.end(), name_or_path) != 0) {
    return profile_dir() / (name_or_path + kExtension);
  }
  throw DataFileError(fmt::format("no profile '{}'; take one of {}, or the path of a {} file",
                                  name_or_path, fmt::join(names, ", "), kExtension));
}

constexpr uint32_t kMostNs = 1'000'000'000;
constexpr uint64_t kLeastQueue = 16'384;  // three of the longest frames
constexpr uint64_t kMostQueue = uint64_t{1} << 40;

void read_pcie(StrictObject object, Profile& profile) {
  profile.pcie_generation = static_cast<unsigned>(object.integer("generation", 1, 5));
  profile.pcie_lanes = static_cast<unsigned>(object.power_of_two("lanes", 1, 16));
  PcieConfig& config = profile.pcie;
  config.bytes_per_us = static_cast<uint32_t>(object.integer("bytes_per_us", 1, 1'000'000));
  config.latency_ns = static_cast<uint32_t>(object.integer("latency_ns", 0, kMostNs));
  config.max_payload = static_cast<uint32_t>(object.power_of_two("max_payload_bytes", 128, 4096));
  config.max_read = static_cast<uint32_t>(object.power_of_two("max_read_bytes", 128, 4096));
  config.host_load_ns = static_cast<uint32_t>(object.integer("host_load_ns", 0, kMostNs));
  config.host_memory_ns = static_cast<uint32_t>(object.integer("host_memory_ns", 0, kMostNs));
  object.finish();
}

void read_ethernet(StrictObject object, Profile& profile) {
  profile.ethernet.megabits_per_second = object.multiple("megabits_per_second", 8, 8'000'000, 8);
  profile.ethernet.latency_ns = static_cast<uint32_t>(object.integer("latency_ns", 0, kMostNs));
  profile.two_nodes_switched = object.choice("two_nodes", {kBackToBack, kSwitch}) == kSwitch;
  SwitchConfig& config = profile.ethernet_switch;
  config.latency_ns = static_cast<uint32_t>(object.integer("switch_latency_ns", 0, kMostNs));
  config.cut_through =
      object.choice("switch_forwarding", {kStoreAndForward, kCutThrough}) == kCutThrough;
  config.flow_control = object.choice("flow_control", {kNone, kCredits}) == kCredits;
  config.queue_bytes = object.integer("switch_queue_bytes", kLeastQueue, kMostQueue);
  config.mark_bytes = object.integer("switch_mark_bytes", 0, kMostQueue);
  if (config.flow_control) profile.ethernet.buffer_bytes = config.queue_bytes;
  object.finish();
}

}  // namespace

Profile parse_profile(const std::string& text, const std::string& where) {
  const nlohmann::json json = parse_json(text, where);
  StrictObject root(json, where, "");
  Profile profile;
  profile.name = root.text("name");
  profile.description = root.text("description");
  StrictObject core = root.object("core");
  profile.data_bits = static_cast<uint16_t>(core.power_of_two("data_bits", 128, 256));
  profile.clock_khz = static_cast<uint32_t>(core.integer("clock_khz", 1'000, 1'000'000));
  core.finish();
  StrictObject host = root.object("host");
  profile.instruction_ns = static_cast<uint32_t>(host.power_of_two("instruction_ns", 1, 1024));
  host.finish();
  read_pcie(root.object("pcie"), profile);
  read_ethernet(root.object("ethernet"), profile);
  root.finish();
  return profile;
}

Profile load_profile(const std::string& name_or_path) {
  const fs::path path = find_profile(name_or_path);
  const std::string where = "profile " + path.string();
  const std::string instead =
      fmt::format("check the path, or take one of {}", fmt::join(profile_names(), ", "));
  return parse_profile(read_data_file(path, where, instead), where);
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(profile_dir(), error)) {
    if (entry.path().extension() == kExtension) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace exrnic
