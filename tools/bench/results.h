// SPDX-License-Identifier: BSD-2-Clause
// results.json: a list of rows {name, value, unit, clock}, with further keys that tell rows of one
// name apart.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace exrnic::bench {

enum class Clock { kSimulated, kWall };

class Results {
 public:
  void add(const std::string& name, double value, const std::string& unit, Clock clock,
           const nlohmann::ordered_json& keys = nlohmann::ordered_json::object()) {
    nlohmann::ordered_json row = {{"name", name},
                                  {"value", value},
                                  {"unit", unit},
                                  {"clock", clock == Clock::kWall ? "wall" : "simulated"}};
    row.update(keys);
    rows_.push_back(row);
  }
  const nlohmann::ordered_json& rows() const { return rows_; }

 private:
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace exrnic::bench
