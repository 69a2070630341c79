// SPDX-License-Identifier: BSD-2-Clause
#include "report.h"

namespace exrnic {

void Report::Add(const std::string& name, double value, const std::string& unit, const Keys& keys,
                 const std::string& paper) {
  rows_.push_back({name, unit, value, keys, paper, ""});
}

void Report::Skip(const std::string& name, const Keys& keys, const std::string& reason) {
  rows_.push_back({name, "", 0, keys, "", reason});
}

void Report::PrintJson(FILE* out) const {
  for (const Row& row : rows_) {
    Keys line = {{"name", row.name}};
    if (row.skipped.empty()) {
      line.update(Keys{{"value", row.value}, {"unit", row.unit}, {"clock", "wall"}});
    } else {
      line["skipped"] = row.skipped;
    }
    line.update(row.keys);
    fprintf(out, "%s\n", line.dump().c_str());
  }
}

namespace {

std::string KeysText(const Report::Keys& keys) {
  std::string text;
  for (const auto& [key, value] : keys.items()) {
    const bool bytes = key == "size" || key == "page";
    text += (text.empty() ? "" : ", ") + key + " " +
            (bytes               ? SizeText(value.get<uint64_t>())
             : value.is_string() ? value.get<std::string>()
                                 : value.dump());
  }
  return text;
}

}  // namespace

void Report::PrintTable(FILE* out) const {
  fprintf(out, "%-20s %12s %-8s %-36s %s\n", "figure", "value", "unit", "of", "paper");
  for (const Row& row : rows_) {
    if (row.skipped.empty()) {
      fprintf(out, "%-20s %12.2f %-8s %-36s %s\n", row.name.c_str(), row.value, row.unit.c_str(),
              KeysText(row.keys).c_str(), row.paper.c_str());
    } else {
      fprintf(out, "%-20s %12s %-8s %-36s %s\n", row.name.c_str(), "skipped", "",
              KeysText(row.keys).c_str(), row.skipped.c_str());
    }
  }
}

std::string SizeText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  unsigned unit = 0;
  while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + kUnits[unit];
}

}  // namespace exrnic
