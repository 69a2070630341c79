// SPDX-License-Identifier: BSD-2-Clause
#include "sim/files/data_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <vector>

#include "sim/posix/unique_fd.h"

namespace exrnic {
namespace {

constexpr size_t kMostBytes = size_t{4} << 20;
constexpr size_t kAtOnce = 65'536;
constexpr int kDeepest = 8;  // twice as deep as any such file is

[[noreturn]] void cannot_be_read(const std::string& where, int error) {
  throw DataFileError(fmt::format("{}: cannot be read: {}; check its type and rights", where,
                                  std::generic_category().message(error)));
}

// Looks over the parser's shoulder: what it would take in silence, or take the memory for.
class Watch {
 public:
  explicit Watch(const std::string& where) : where_(where) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    const bool begins = event == Event::object_start || event == Event::array_start;
    if (begins && depth >= kDeepest) {
      throw DataFileError(
          fmt::format("{}: lists and objects lie in each other more than {} deep; no such file "
                      "needs more",
                      where_, kDeepest));
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::key) take_key(parsed.get_ref<const std::string&>());
    return true;
  }

 private:
  void take_key(const std::string& key) {
    if (keys_.back().insert(key).second) return;
    throw DataFileError(
        fmt::format("{}: key '{}' stands twice in one object; remove one", where_, key));
  }

  std::string where_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

std::string read_data_file(const std::filesystem::path& path, const std::string& where,
                           const std::string& instead) {
  // A FIFO that is opened the usual way holds the program until somebody writes to it.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENOENT) {
    throw DataFileError(fmt::format("{}: no such file; {}", where, instead));
  }
  if (!file) cannot_be_read(where, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) cannot_be_read(where, errno);
  if (!S_ISREG(status.st_mode)) {
    throw DataFileError(
        fmt::format("{}: cannot be read: it is no regular file; copy its text to one", where));
  }
  std::string text;
  for (ssize_t got = 1; got != 0 && text.size() <= kMostBytes;) {
    const size_t before = text.size();
    text.resize(before + kAtOnce);
    got = ::read(file.get(), text.data() + before, kAtOnce);
    if (got < 0) cannot_be_read(where, errno);
    text.resize(before + static_cast<size_t>(got));
  }
  if (text.size() > kMostBytes) {
    throw DataFileError(
        fmt::format("{}: it has more than {} bytes; no such file needs more", where, kMostBytes));
  }
  return text;
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  try {
    return nlohmann::json::parse(text, Watch(where));
  } catch (const nlohmann::json::parse_error& error) {
    throw DataFileError(
        fmt::format("{}: not JSON at byte {}; correct the text there", where, error.byte));
  } catch (const nlohmann::json::out_of_range& error) {
    throw DataFileError(
        fmt::format("{}: {}; take a number of a sensible size", where, error.what()));
  }
}

}  // namespace exrnic
