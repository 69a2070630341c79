// SPDX-License-Identifier: BSD-2-Clause
// What exrnic-bench found out: rows for machines, and a table for people.
#ifndef EXRNIC_BENCH_REPORT_H
#define EXRNIC_BENCH_REPORT_H

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace exrnic {

class Report {
 public:
  using Keys =
      nlohmann::ordered_json;  // what tells rows of one name apart, and how it was measured

  // `paper`: the same figure of the paper, in words; "" if it has none.
  void Add(const std::string& name, double value, const std::string& unit, const Keys& keys,
           const std::string& paper = "");
  void Skip(const std::string& name, const Keys& keys, const std::string& reason);

  // One JSON object a line: {name, value, unit, clock, keys...}, or {name, keys..., skipped}.
  void PrintJson(FILE* out) const;
  void PrintTable(FILE* out) const;

 private:
  struct Row {
    std::string name;
    std::string unit;
    double value;
    Keys keys;
    std::string paper;
    std::string skipped;
  };
  std::vector<Row> rows_;
};

// 4096 -> "4 KiB".
std::string SizeText(uint64_t bytes);

}  // namespace exrnic

#endif  // EXRNIC_BENCH_REPORT_H
