// SPDX-License-Identifier: BSD-2-Clause
#include "sim/files/strict_object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/files/data_file.h"

namespace exrnic {
namespace {

// A value as an error shows it: in ASCII, so that it may be cut anywhere.
std::string shown(const nlohmann::json& value) {
  constexpr size_t kMost = 200;
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true);
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

}  // namespace

StrictObject::StrictObject(const nlohmann::json& value, std::string where, std::string path)
    : value_(value), where_(std::move(where)), path_(std::move(path)) {
  if (value_.is_object()) return;
  const std::string what = path_.empty() ? "the whole file" : path_.substr(0, path_.size() - 1);
  throw DataFileError(
      fmt::format("{}: {} is not a JSON object; write {{\"key\": value, ...}}", where_, what));
}

const nlohmann::json& StrictObject::at(const std::string& key) {
  const auto found = value_.find(key);
  if (found == value_.end()) {
    throw DataFileError(fmt::format("{}: key '{}{}' is missing; add it", where_, path_, key));
  }
  read_.insert(key);
  return *found;
}

void StrictObject::refuse(const std::string& key, const std::string& expected) const {
  throw DataFileError(fmt::format("{}: '{}{}' is {}; give {}", where_, path_, key,
                                  shown(value_.at(key)), expected));
}

StrictObject StrictObject::object(const std::string& key) {
  return StrictObject(at(key), where_, path_ + key + ".");
}

std::vector<StrictObject> StrictObject::objects(const std::string& key) {
  const nlohmann::json& list = at(key);
  if (!list.is_array()) refuse(key, "a list of objects");
  std::vector<StrictObject> result;
  for (const nlohmann::json& value : list) {
    result.emplace_back(value, where_, fmt::format("{}{}[{}].", path_, key, result.size()));
  }
  return result;
}

std::vector<std::string> StrictObject::texts(const std::string& key, size_t count) {
  const nlohmann::json& list = at(key);
  const auto is_text = [](const nlohmann::json& value) { return value.is_string(); };
  if (!list.is_array() || list.size() != count || !std::all_of(list.begin(), list.end(), is_text)) {
    refuse(key, fmt::format("a list of {} texts", count));
  }
  return list.get<std::vector<std::string>>();
}

std::vector<std::string> StrictObject::keys() const {
  std::vector<std::string> result;
  for (const auto& item : value_.items()) result.push_back(item.key());
  return result;
}

std::string StrictObject::text(const std::string& key) {
  const nlohmann::json& value = at(key);
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    refuse(key, "a text");
  }
  return value.get<std::string>();
}

std::string StrictObject::choice(const std::string& key, const std::vector<std::string>& allowed) {
  const nlohmann::json& value = at(key);
  if (value.is_string() && std::count(allowed.begin(), allowed.end(), value) != 0) {
    return value.get<std::string>();
  }
  refuse(key, fmt::format("one of \"{}\"", fmt::join(allowed, "\", \"")));
}

uint64_t StrictObject::integer(const std::string& key, uint64_t least, uint64_t most) {
  const nlohmann::json& value = at(key);
  const bool fits =
      value.is_number_unsigned() && value.get<uint64_t>() >= least && value.get<uint64_t>() <= most;
  if (!fits) refuse(key, fmt::format("a whole number in {}..{}", least, most));
  return value.get<uint64_t>();
}

bool StrictObject::boolean(const std::string& key) {
  const nlohmann::json& value = at(key);
  if (!value.is_boolean()) refuse(key, "true or false");
  return value.get<bool>();
}

std::vector<std::set<unsigned>> StrictObject::sets(const std::string& key, unsigned most) {
  const nlohmann::json& lists = at(key);
  const auto is_member = [&](const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() <= most;
  };
  const auto is_set = [&](const nlohmann::json& list) {
    return list.is_array() && std::all_of(list.begin(), list.end(), is_member);
  };
  if (!lists.is_array() || !std::all_of(lists.begin(), lists.end(), is_set)) {
    refuse(key, fmt::format("a list of lists of whole numbers in 0..{}", most));
  }
  return lists.get<std::vector<std::set<unsigned>>>();
}

uint64_t StrictObject::multiple(const std::string& key, uint64_t least, uint64_t most,
                                uint64_t unit) {
  const uint64_t number = integer(key, least, most);
  if (number % unit != 0) {
    refuse(key, fmt::format("a multiple of {} in {}..{}", unit, least, most));
  }
  return number;
}

uint64_t StrictObject::power_of_two(const std::string& key, uint64_t least, uint64_t most) {
  const uint64_t number = integer(key, least, most);
  if ((number & (number - 1)) != 0) {
    refuse(key, fmt::format("a power of two in {}..{}", least, most));
  }
  return number;
}

void StrictObject::finish() const {
  for (const auto& item : value_.items()) {
    if (read_.count(item.key()) != 0) continue;
    throw DataFileError(fmt::format("{}: key '{}{}' is unknown; remove it (known here: {})", where_,
                                    path_, item.key(), fmt::join(read_, ", ")));
  }
}

}  // namespace exrnic
