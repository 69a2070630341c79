// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace exrnic::workload {
namespace {

using Json = nlohmann::ordered_json;

double to_ns(SimTime time) { return static_cast<double>(time) / kPsPerNs; }

// What of `sorted` the share `percent` is at most: the nearest rank.
double percentile(const std::vector<SimTime>& sorted, unsigned percent) {
  return sorted.empty() ? 0 : to_ns(sorted[(sorted.size() * percent + 99) / 100 - 1]);
}

void set_percentiles(Summary& summary, std::vector<SimTime>& took) {
  std::sort(took.begin(), took.end());
  summary.p50_ns = percentile(took, 50);
  summary.p90_ns = percentile(took, 90);
  summary.p99_ns = percentile(took, 99);
  summary.most_ns = percentile(took, 100);
}

// The columns of a summary, in every form of output.
Json to_json(const Summary& summary) {
  return {{"messages", summary.messages}, {"ended", summary.ended},
          {"failed", summary.failed},     {"bytes", summary.bytes},
          {"start_ns", summary.start_ns}, {"end_ns", summary.end_ns},
          {"p50_ns", summary.p50_ns},     {"p90_ns", summary.p90_ns},
          {"p99_ns", summary.p99_ns},     {"most_ns", summary.most_ns}};
}

Json to_json(const FlowResult& flow) {
  Json json = {{"traffic", flow.traffic}, {"from", flow.from}, {"to", flow.to}};
  json.update(to_json(flow.summary));
  return json;
}

}  // namespace

Results::Results(const Workload& workload, SimTime begin)
    : workload_(workload),
      begin_(begin),
      took_(workload.traffic.size()),
      received_(workload.traffic.size()) {}

void Results::add(unsigned node, const Endpoint& endpoint, const std::vector<Sent>& sent,
                  uint64_t received) {
  struct Found {
    Summary summary;
    SimTime start = Sent::kNotYet;
    SimTime end = 0;
    std::vector<SimTime> took;
  };
  std::map<unsigned, Found> found;  // by whom they went to
  for (size_t i = 0; i < sent.size(); ++i) {
    Found& flow = found[endpoint.messages[i].to];
    ++flow.summary.messages;
    if (sent[i].start == Sent::kNotYet) continue;
    ++flow.summary.begun;
    flow.start = std::min(flow.start, sent[i].start);
    if (sent[i].end == Sent::kNotYet) continue;
    flow.end = std::max(flow.end, sent[i].end);
    ++(sent[i].failed ? flow.summary.failed : flow.summary.ended);
    if (sent[i].failed) continue;
    flow.summary.bytes += endpoint.messages[i].bytes;
    flow.took.push_back(sent[i].end - sent[i].start);
  }
  for (auto& [to, flow] : found) {
    if (flow.start != Sent::kNotYet) flow.summary.start_ns = to_ns(flow.start - begin_);
    if (flow.end != 0) flow.summary.end_ns = to_ns(flow.end - begin_);
    auto& all = took_[endpoint.traffic];
    all.insert(all.end(), flow.took.begin(), flow.took.end());
    set_percentiles(flow.summary, flow.took);
    flows_.push_back({endpoint.traffic, node, to, flow.summary});
  }
  received_[endpoint.traffic] += received;
}

// As nodes in their order give them.
void Results::sort() {
  std::stable_sort(flows_.begin(), flows_.end(),
                   [](const FlowResult& a, const FlowResult& b) { return a.from < b.from; });
}

std::vector<TrafficResult> Results::traffic() const {
  std::vector<TrafficResult> all(workload_.traffic.size());
  for (const FlowResult& flow : flows_) {
    TrafficResult& item = all[flow.traffic];
    Summary& sum = item.summary;
    ++item.flows;
    if (flow.summary.begun != 0)
      sum.start_ns =
          sum.begun == 0 ? flow.summary.start_ns : std::min(sum.start_ns, flow.summary.start_ns);
    sum.begun += flow.summary.begun;
    sum.end_ns = std::max(sum.end_ns, flow.summary.end_ns);
    sum.messages += flow.summary.messages;
    sum.ended += flow.summary.ended;
    sum.failed += flow.summary.failed;
    sum.bytes += flow.summary.bytes;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<SimTime> took = took_[i];
    set_percentiles(all[i].summary, took);
    all[i].received = received_[i];
  }
  return all;
}

uint64_t Results::unfinished() const {
  uint64_t count = 0;
  for (const FlowResult& flow : flows_)
    count += flow.summary.messages - flow.summary.ended - flow.summary.failed;
  return count;
}

std::string Results::csv() const {
  std::string text;
  for (const FlowResult& flow : flows_) {
    const Json row = to_json(flow);
    const auto join = [&](auto cell) {
      std::string line;
      for (const auto& item : row.items()) line += (line.empty() ? "" : ",") + cell(item);
      text += line + '\n';
    };
    if (text.empty()) join([](const auto& item) { return item.key(); });
    join([](const auto& item) { return item.value().dump(); });
  }
  return text;
}

Json Results::json() const {
  Json json = {{"workload", workload_.name},
               {"seed", workload_.seed},
               {"begin_ns", to_ns(begin_)},
               {"traffic", Json::array()},
               {"flows", Json::array()}};
  const std::vector<TrafficResult> all = traffic();
  for (size_t i = 0; i < all.size(); ++i) {
    Json item = {{"pattern", name_of(workload_.traffic[i].pattern)},
                 {"operation", name_of(workload_.traffic[i].operation)},
                 {"flows", all[i].flows},
                 {"received", all[i].received}};
    item.update(to_json(all[i].summary));
    json["traffic"].push_back(item);
  }
  for (const FlowResult& flow : flows_) json["flows"].push_back(to_json(flow));
  return json;
}

std::string Results::text() const {
  std::string text;
  const std::vector<TrafficResult> all = traffic();
  for (size_t i = 0; i < all.size(); ++i) {
    const Summary& sum = all[i].summary;
    text += fmt::format(
        "{} of {}: {} flows, {} messages, {} bytes, {} failed, in {:.3f} us; a message took "
        "{:.3f} us (half of them), {:.3f} (90 %), {:.3f} (99 %), {:.3f} (all)\n",
        name_of(workload_.traffic[i].pattern), name_of(workload_.traffic[i].operation),
        all[i].flows, sum.messages, sum.bytes, sum.failed, (sum.end_ns - sum.start_ns) / 1e3,
        sum.p50_ns / 1e3, sum.p90_ns / 1e3, sum.p99_ns / 1e3, sum.most_ns / 1e3);
  }
  return text;
}

}  // namespace exrnic::workload
