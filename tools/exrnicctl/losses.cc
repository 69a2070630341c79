// SPDX-License-Identifier: BSD-2-Clause
#include "losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "counters.h"
#include "runs.h"

namespace exrnic::ctl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr char kFile[] = "losses.json";

std::string frame_of(const Json& loss) {
  if (!loss.contains("from")) return "none of EFE";
  std::string text = fmt::format("{} {} -> {}", loss.at("opcode").get<std::string>(),
                                 loss.at("from").get<unsigned>(), loss.at("to").get<unsigned>());
  if (loss.contains("seq")) text += fmt::format(", seq {:08x}", loss.at("seq").get<uint32_t>());
  return text;
}

std::string work_of(const Json& loss) {
  if (!loss.contains("work")) return "";
  const Json& work = loss.at("work");
  return fmt::format("{} of node {}, queue pair {}, slot {}", work.at("opcode").get<std::string>(),
                     work.at("node").get<unsigned>(), work.at("qpn").get<unsigned>(),
                     work.at("slot").get<unsigned>());
}

using Row = std::vector<std::string>;

Row row_of(const Json& loss) {
  return {fmt::format("{:.3f} us", loss.at("time_ns").get<double>() / 1e3),
          loss.at("at").get<std::string>(), loss.at("cause").get<std::string>(), frame_of(loss),
          work_of(loss)};
}

// Columns as wide as they have to be, the first one to the right.
std::string text_of(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:>{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) line += fmt::format("  {:<{}}", row[i], widths[i]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

}  // namespace

std::string find_losses() {
  fs::path newest;
  std::error_code error;
  for (const auto& run : fs::directory_iterator(kRuns, error)) {
    const fs::path path = run.path() / kFile;
    std::error_code no;
    if (!fs::is_regular_file(path, no)) continue;
    if (newest.empty() || fs::last_write_time(path, no) > fs::last_write_time(newest, no))
      newest = path;
  }
  if (newest.empty()) {
    throw Failure(
        fmt::format("there is no {} below ./{}: name one, or make one: exrnic-sim --losses FILE, "
                    "make run PAGE=1",
                    kFile, kRuns));
  }
  return newest;
}

Losses read_losses(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Failure(path + ": it cannot be read");
  Losses losses;
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // without its end
    try {
      losses.push_back(Json::parse(line));
      row_of(losses.back());
    } catch (const Json::exception&) {
      throw Failure(fmt::format("{}, line {}: it is no file of exrnic-sim --losses", path,
                                losses.size() + 1));
    }
  }
  return losses;
}

std::string loss_table(const Losses& losses, size_t most) {
  if (losses.empty()) return "every frame has arrived, and none was refused\n";
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const Json& loss : losses) ++counts[{loss.at("cause"), loss.at("at")}];
  std::vector<Row> sums = {{"frames", "cause", "at"}};
  for (const auto& [what, count] : counts)
    sums.push_back({std::to_string(count), what.first, what.second});
  const size_t first = most == 0 || losses.size() < most ? 0 : losses.size() - most;
  std::vector<Row> rows = {{"time", "at", "cause", "frame", "work request"}};
  for (size_t i = first; i < losses.size(); ++i) rows.push_back(row_of(losses[i]));
  std::string text = text_of(sums) + '\n';
  if (first > 0) text += fmt::format("the last {} of {} (--all: each)\n", most, losses.size());
  return text + text_of(rows);
}

}  // namespace exrnic::ctl
