// SPDX-License-Identifier: BSD-2-Clause
#include "sim/ethernet/faults.h"

#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace exrnic {
namespace {

constexpr char kNoFaults[] = "none";

constexpr char kExpected[] =
    "expected a list such as drop=0.001,duplicate=0,reorder=0,corrupt=0,delay=0 "
    "(also reorder_frames=N, hold_ns=N, delay_ns=N)";

[[noreturn]] void refuse(const std::string& item, const char* why) {
  throw std::invalid_argument(fmt::format("fault '{}': {}; {}", item, why, kExpected));
}

double parse_rate(const std::string& item, const std::string& value) {
  char* end = nullptr;
  const double rate = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0') refuse(item, "not a number");
  if (!(rate >= 0 && rate <= 1)) refuse(item, "a probability lies in 0..1");
  return rate;
}

uint32_t parse_count(const std::string& item, const std::string& value) {
  constexpr uint32_t kMost = 1'000'000'000;
  const bool digits = !value.empty() && value.size() <= 10 &&
                      value.find_first_not_of("0123456789") == std::string::npos;
  const uint64_t count = digits ? std::stoull(value) : 0;
  if (count < 1 || count > kMost) refuse(item, "not a whole number in 1..1000000000");
  return static_cast<uint32_t>(count);
}

// `seen`: the keys of the items before.
void apply_item(FaultConfig& config, const std::string& item, std::set<std::string>& seen) {
  const size_t equals = item.find('=');
  if (equals == std::string::npos) refuse(item, "no '='");
  const std::string key = item.substr(0, equals);
  if (!seen.insert(key).second) refuse(item, "its kind is given twice");
  const std::string value = item.substr(equals + 1);
  const std::map<std::string_view, double*> rates = {
      {"drop", &config.rates.drop},       {"duplicate", &config.rates.duplicate},
      {"reorder", &config.rates.reorder}, {"corrupt", &config.rates.corrupt},
      {"delay", &config.rates.delay},
  };
  if (const auto rate = rates.find(key); rate != rates.end()) {
    *rate->second = parse_rate(item, value);
  } else if (key == "reorder_frames") {
    config.reorder_frames = parse_count(item, value);
  } else if (key == "hold_ns") {
    config.hold_ns = parse_count(item, value);
  } else if (key == "delay_ns") {
    config.delay_ns = parse_count(item, value);
  } else {
    refuse(item, "unknown kind");
  }
}

}  // namespace

FaultConfig parse_faults(const std::string& text) {
  FaultConfig config;
  if (text == kNoFaults) return config;
  std::istringstream items(text);
  std::set<std::string> seen;
  for (std::string item; std::getline(items, item, ',');) apply_item(config, item, seen);
  if (config.rates.sum() > 1) refuse(text, "the probabilities add up to more than 1");
  return config;
}

std::string to_text(const FaultConfig& config) {
  const FaultConfig usual;
  const std::pair<const char*, double> rates[] = {{"drop", config.rates.drop},
                                                  {"duplicate", config.rates.duplicate},
                                                  {"reorder", config.rates.reorder},
                                                  {"corrupt", config.rates.corrupt},
                                                  {"delay", config.rates.delay}};
  std::string text;
  const auto add = [&](const char* key, auto value, auto otherwise) {
    if (value != otherwise) text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  };
  for (const auto& [key, rate] : rates) add(key, rate, 0.0);
  add("reorder_frames", config.reorder_frames, usual.reorder_frames);
  add("hold_ns", config.hold_ns, usual.hold_ns);
  add("delay_ns", config.delay_ns, usual.delay_ns);
  return text.empty() ? kNoFaults : text;
}

FaultInjector::FaultInjector(const FaultConfig& config, uint64_t seed)
    : config_(config), random_(seed) {}

double FaultInjector::draw() {
  constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;
  return static_cast<double>(random_() >> 11) * kTwoToMinus53;
}

Fault FaultInjector::next() {
  double rest = draw();  // drawn for scripted frames too: a script moves no other frame's fate
  const auto scripted = config_.script.find(next_index_++);
  if (scripted != config_.script.end()) return scripted->second;
  const FaultRates& rates = config_.rates;
  const std::pair<double, Fault> kinds[] = {
      {rates.drop, Fault::kDrop},       {rates.duplicate, Fault::kDuplicate},
      {rates.reorder, Fault::kReorder}, {rates.corrupt, Fault::kCorrupt},
      {rates.delay, Fault::kDelay},
  };
  for (const auto& [rate, kind] : kinds) {
    if (rest < rate) return kind;
    rest -= rate;
  }
  return Fault::kNone;
}

void FaultInjector::corrupt(Bytes& wire) {
  const size_t flips = 1 + random_() % 3;
  std::set<size_t> bits;
  while (bits.size() < flips) bits.insert(random_() % (wire.size() * 8));
  for (const size_t bit : bits) wire[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
}

}  // namespace exrnic
