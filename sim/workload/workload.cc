// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/files/data_file.h"
#include "sim/files/strict_object.h"

namespace exrnic::workload {
namespace {

template <typename Value>
struct Named {
  const char* name;
  Value value;
};

constexpr Named<Pattern> kPatterns[] = {
    {"incast", Pattern::kIncast},
    {"all-to-all", Pattern::kAllToAll},
    {"permutation", Pattern::kPermutation},
    {"random", Pattern::kRandom},
    {"ring-all-reduce", Pattern::kRingAllReduce},
    {"tree-all-reduce", Pattern::kTreeAllReduce},
};

constexpr Named<exrnic_wqe_opcode> kOperations[] = {
    {"push", EXRNIC_WQE_OPCODE_PUSH},
    {"push-imm", EXRNIC_WQE_OPCODE_PUSH_IMM},
    {"pull", EXRNIC_WQE_OPCODE_PULL},
    {"send", EXRNIC_WQE_OPCODE_SEND},
    {"send-imm", EXRNIC_WQE_OPCODE_SEND_IMM},
    {"fetch-add", EXRNIC_WQE_OPCODE_FETCH_ADD},
    {"compare-swap", EXRNIC_WQE_OPCODE_COMPARE_SWAP},
};

constexpr Named<exrnic_service> kServices[] = {
    {"rc", EXRNIC_SERVICE_RC},
    {"uc", EXRNIC_SERVICE_UC},
    {"ud", EXRNIC_SERVICE_UD},
};

constexpr char kEven[] = "even";
constexpr char kPoisson[] = "poisson";

constexpr uint32_t kMostMessages = 1'000'000;  // of a flow, or of a node
constexpr uint64_t kMostNs = 1'000'000'000'000;
constexpr unsigned kMostOutstanding = 1024;
constexpr unsigned kMostShare = 1'000'000;
constexpr size_t kMostTraffic = 256;

template <typename Value, size_t kCount>
Value choice(StrictObject& object, const std::string& key, const Named<Value> (&all)[kCount]) {
  std::vector<std::string> names;
  for (const auto& item : all) names.push_back(item.name);
  const std::string name = object.choice(key, names);
  return all[std::find(names.begin(), names.end(), name) - names.begin()].value;
}

template <typename Value, size_t kCount>
const char* name_among(Value value, const Named<Value> (&all)[kCount]) {
  const auto* found = std::find_if(std::begin(all), std::end(all),
                                   [&](const auto& item) { return item.value == value; });
  assert(found != std::end(all));
  return found->name;
}

// One file, as it is read.
class Reader {
 public:
  Reader(const std::string& text, const std::string& where, const Network& network)
      : json_(parse_json(text, where)), where_(where), network_(network) {}

  Workload read() {
    StrictObject root(json_, where_, "");
    workload_.name = root.text("name");
    if (root.has("seed")) workload_.seed = root.integer("seed", 0, ~uint64_t{0});
    if (root.has("mtu"))
      workload_.mtu = static_cast<uint32_t>(
          root.multiple("mtu", EXRNIC_MTU_MIN, EXRNIC_MTU_MAX, EXRNIC_MTU_STEP));
    std::vector<StrictObject> objects = root.objects("traffic");
    if (objects.empty() || objects.size() > kMostTraffic)
      root.refuse("traffic", fmt::format("1 to {} objects", kMostTraffic));
    for (StrictObject& object : objects) read_traffic(object);
    root.finish();
    return workload_;
  }

 private:
  void read_traffic(StrictObject& object) {
    Traffic traffic;
    traffic.pattern = choice(object, "pattern", kPatterns);
    read_operation(object, traffic);
    read_nodes(object, traffic);
    read_sizes(object, traffic);
    if (object.has("start_ns")) traffic.start_ns = object.integer("start_ns", 0, kMostNs);
    if (traffic.is_collective())
      traffic.outstanding = kMostOutstanding;  // what has come is all that a message waits for
    else
      read_pace(object, traffic);
    object.finish();
    workload_.traffic.push_back(traffic);
  }

  void read_operation(StrictObject& object, Traffic& traffic) {
    traffic.operation = choice(object, "operation", kOperations);
    if (object.has("service")) traffic.service = choice(object, "service", kServices);
    const auto properties = exrnic_of_wqe_opcode(traffic.operation);
    if ((traffic.service == EXRNIC_SERVICE_UC && !properties.uc) ||
        (traffic.service == EXRNIC_SERVICE_UD && !properties.ud))
      object.refuse("operation", "one that this service takes");
    if (traffic.is_collective() && (!properties.receive || traffic.service != EXRNIC_SERVICE_RC))
      object.refuse("operation",
                    "one of service rc that the peer notices: push-imm, send, send-imm");
  }

  void read_nodes(StrictObject& object, Traffic& traffic) {
    const uint64_t last = network_.nodes() - 1;
    traffic.last_node = static_cast<unsigned>(last);
    if (object.has("first_node"))
      traffic.first_node = static_cast<unsigned>(object.integer("first_node", 0, last));
    if (object.has("last_node"))
      traffic.last_node = static_cast<unsigned>(object.integer("last_node", 0, last));
    if (traffic.last_node <= traffic.first_node)
      throw DataFileError(fmt::format(
          "{}: 'traffic[{}]' is of node {} to node {}; give a last_node behind the first_node",
          where_, workload_.traffic.size(), traffic.first_node, traffic.last_node));
    if (traffic.pattern != Pattern::kIncast) return;
    traffic.target =
        static_cast<unsigned>(object.integer("target", traffic.first_node, traffic.last_node));
  }

  void read_sizes(StrictObject& object, Traffic& traffic) {
    if (traffic.pattern == Pattern::kRandom && object.has("sizes")) {
      for (StrictObject& size : object.objects("sizes")) {
        const uint32_t bytes = read_bytes(size, traffic);
        traffic.sizes.push_back(
            {bytes, static_cast<uint32_t>(size.integer("share", 1, kMostShare))});
        size.finish();
      }
      if (traffic.sizes.empty()) object.refuse("sizes", "one size or more");
    } else {
      traffic.sizes.push_back({read_bytes(object, traffic)});
    }
  }

  uint32_t read_bytes(StrictObject& object, const Traffic& traffic) const {
    if (exrnic_of_wqe_opcode(traffic.operation).atomic) {
      return static_cast<uint32_t>(
          object.integer("bytes", EXRNIC_ATOMIC_BYTES, EXRNIC_ATOMIC_BYTES));
    }
    const uint64_t most = traffic.service == EXRNIC_SERVICE_UD ? workload_.mtu : EXRNIC_MESSAGE_MAX;
    return static_cast<uint32_t>(object.integer("bytes", 1, most));
  }

  void read_pace(StrictObject& object, Traffic& traffic) {
    if (object.has("messages"))
      traffic.messages = static_cast<uint32_t>(object.integer("messages", 1, kMostMessages));
    if (!object.has("megabits_per_second")) {
      if (object.has("outstanding"))
        traffic.outstanding =
            static_cast<unsigned>(object.integer("outstanding", 1, kMostOutstanding));
      return;
    }
    const auto& rates = network_.megabits_per_second;
    const uint64_t line = *std::min_element(rates.begin() + traffic.first_node,
                                            rates.begin() + traffic.last_node + 1);
    traffic.megabits_per_second = object.integer("megabits_per_second", 1, line);
    traffic.outstanding = kMostOutstanding;
    if (object.has("arrivals"))
      traffic.poisson = object.choice("arrivals", {kEven, kPoisson}) == kPoisson;
  }

  nlohmann::json json_;
  std::string where_;
  const Network& network_;
  Workload workload_;
};

}  // namespace

const char* name_of(Pattern pattern) { return name_among(pattern, kPatterns); }

const char* name_of(exrnic_wqe_opcode operation) { return name_among(operation, kOperations); }

Workload parse_workload(const std::string& text, const std::string& where, const Network& network) {
  return Reader(text, where, network).read();
}

Workload load_workload(const std::string& path, const Network& network) {
  const std::string where = "workload " + path;
  return parse_workload(read_data_file(path, where, "check the path"), where, network);
}

}  // namespace exrnic::workload
