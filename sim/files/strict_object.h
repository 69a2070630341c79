// SPDX-License-Identifier: BSD-2-Clause
// A JSON object that is read strictly: every key that is asked for present, of the right type and
// range, and no other. What may be left out is asked for only if it is there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace exrnic {

// Every function throws DataFileError with one line naming file, key, value and expectation.
class StrictObject {
 public:
  // `path` is the object's own key with a trailing dot, empty for the root.
  StrictObject(const nlohmann::json& value, std::string where, std::string path);

  bool has(const std::string& key) const { return value_.contains(key); }
  std::vector<std::string> keys() const;

  StrictObject object(const std::string& key);
  std::vector<StrictObject> objects(const std::string& key);
  std::vector<std::string> texts(const std::string& key, size_t count);
  std::string text(const std::string& key);
  std::string choice(const std::string& key, const std::vector<std::string>& allowed);
  uint64_t integer(const std::string& key, uint64_t least, uint64_t most);
  bool boolean(const std::string& key);
  // A list of lists of whole numbers in 0..most.
  std::vector<std::set<unsigned>> sets(const std::string& key, unsigned most);

  // Like integer, and a multiple of `unit`, or a power of two.
  uint64_t multiple(const std::string& key, uint64_t least, uint64_t most, uint64_t unit);
  uint64_t power_of_two(const std::string& key, uint64_t least, uint64_t most);

  // Throws: the value of `key` is wrong, `expected` says what may stand there.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;

  // Refuses keys that nobody asked for. Call when all have been read.
  void finish() const;

 private:
  const nlohmann::json& at(const std::string& key);

  const nlohmann::json& value_;
  std::string where_;
  std::string path_;
  std::set<std::string> read_;
};

}  // namespace exrnic
