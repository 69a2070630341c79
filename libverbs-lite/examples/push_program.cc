// SPDX-License-Identifier: BSD-2-Clause
#include "push_program.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "pattern.h"
#include "transfer.h"
#include "window_stores.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kHello = 1, kConnected, kBye };

constexpr size_t kRegionMin = 4u << 20;

struct Hello {
  uint64_t seed;
  uint64_t address;  // of the target region
  uint64_t plan;     // a digest of sizes and operations, which both ends must agree on
  uint32_t node;
  uint32_t qpn;
  uint32_t stag;
  uint32_t window_qpn;
};

uint32_t OpsOf(const PushOptions& options, uint32_t size) {
  return options.ops != 0 ? options.ops : DefaultOps(size);
}

uint64_t PlanDigest(const PushOptions& options) {
  uint64_t digest = 0;
  for (uint32_t size : options.sizes) {
    digest = Mix(digest + size);
    digest = Mix(digest + OpsOf(options, size));
  }
  return digest;
}

size_t RegionBytes(const PushOptions& options) {
  const uint32_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
  return std::max(kRegionMin, size_t{kPushDepth / 4} * largest + 4096);
}

// All that one guest has; members in the order in which they may be made.
struct Station {
  Station(const PushOptions& options, const OpenRnicCall& open)
      : source(RegionBytes(options)),
        target(RegionBytes(options)),
        rnic(Own(open(), "cannot open the RNIC")),
        pd(Own(vl_allocate_pd(rnic.get()), "vl_allocate_pd")),
        cq(Own(vl_create_cq(rnic.get(), 2 * kPushDepth, nullptr), "vl_create_cq")),
        qp(CreateQp(pd.get(), QpAttributes(cq.get(), kPushDepth))),
        window_qp(CreateQp(pd.get(), WindowAttributes())),
        source_mr(Register(source, 0)),
        target_mr(Register(
            target, VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ)) {
    const uint32_t node = QueryRnic(rnic.get()).node_id;
    if (node != options.node) {
      throw std::runtime_error("the RNIC is node " + std::to_string(node) + ", not " +
                               std::to_string(options.node) + " as --node says");
    }
  }

  // Loads are reads.
  vl_qp_init_attr WindowAttributes() const {
    vl_qp_init_attr init = QpAttributes(cq.get(), kPushDepth);
    init.max_reads_out = init.max_reads_in = 1;
    return init;
  }

  Owned<vl_mr> Register(const Pages& pages, int access) {
    return Own(vl_allocate_mr(pd.get(), pages.data(), pages.size(), access), "vl_allocate_mr");
  }

  Pages source;
  Pages target;
  Owned<vl_rnic> rnic;
  Owned<vl_pd> pd;
  Owned<vl_cq> cq;
  Owned<vl_qp> qp;
  Owned<vl_qp> window_qp;  // that nothing is posted to
  Owned<vl_mr> source_mr;
  Owned<vl_mr> target_mr;
};

Hello Greet(const PushOptions& options, const Station& station, Oob* oob) {
  const Hello mine = {options.seed,
                      AddressOf(station.target.data()),
                      PlanDigest(options),
                      options.node,
                      vl_qp_number(station.qp.get()),
                      vl_mr_stag(station.target_mr.get()),
                      vl_qp_number(station.window_qp.get())};
  const Hello theirs = oob->Exchange(kHello, mine);
  if (theirs.node == options.node) throw std::runtime_error("both guests say the same --node");
  if (theirs.plan != mine.plan) {
    throw std::runtime_error("the peer was started with other --sizes or --ops");
  }
  return theirs;
}

PushLink Join(const Station& station, const Hello& peer, Oob* oob) {
  ConnectQp(station.qp.get(), peer.node, peer.qpn);
  ConnectQp(station.window_qp.get(), peer.node, peer.window_qpn);
  oob->Exchange(kConnected, peer.qpn);
  return {oob,
          station.cq.get(),
          station.qp.get(),
          station.source.data(),
          vl_mr_stag(station.source_mr.get()),
          station.target.data(),
          station.target.size(),
          peer.stag,
          peer.address};
}

void Print(FILE* out, uint32_t from, uint32_t to, uint32_t size, const PushResult& result,
           double wall_s) {
  fprintf(out,
          "@exrnic {\"from\":%u,\"to\":%u,\"size\":%u,\"ops\":%u,\"verified\":%u,"
          "\"latency_us\":%.3f,\"bandwidth_mbps\":%.1f,\"wall_s\":%.2f}\n",
          from, to, size, result.ops, result.verified, result.latency_us, result.bandwidth_mbps,
          wall_s);
  fflush(out);
}

void SendAndPrint(const PushOptions& options, const PushLink& link, uint32_t peer, uint32_t size,
                  uint64_t seed, FILE* out) {
  const auto start = std::chrono::steady_clock::now();
  const PushResult result = SendSize(link, size, OpsOf(options, size), seed);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  Print(out, options.node, peer, size, result, wall.count());
}

// An RNIC without windows, that of the simulator without guests, prints nothing.
void StoreAndPrint(const PushOptions& options, const StoreLink& link, uint32_t peer, uint64_t seed,
                   FILE* out) {
  const StoreResult result = StoreIntoPeer(link, seed);
  if (result.stores == 0) return;
  fprintf(out, "@exrnic {\"from\":%u,\"to\":%u,\"stores\":%u,\"read_back\":%u,\"verified\":%u}\n",
          options.node, peer, result.stores, result.read_back, result.verified);
  fflush(out);
}

void PushAll(const PushOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  const Station station(options, open);
  const Hello peer = Greet(options, station, oob);
  const PushLink link = Join(station, peer, oob);
  const bool first = options.node < peer.node;
  uint64_t seed = first ? options.seed : peer.seed;
  for (uint32_t size : options.sizes) {
    for (bool sends : {first, !first}) {
      seed = Mix(seed + size);
      if (sends) {
        SendAndPrint(options, link, peer.node, size, seed, out);
      } else {
        ReceiveSize(link);
      }
    }
  }
  const StoreLink stores = {oob, station.window_qp.get(), station.target.data(), peer.stag,
                            peer.address};
  for (bool sends : {first, !first}) {
    seed = Mix(seed);
    if (sends) {
      StoreAndPrint(options, stores, peer.node, seed, out);
    } else {
      CompareStores(stores);
    }
  }
  oob->Exchange(kBye, options.node);
}

}  // namespace

std::vector<uint32_t> DefaultSizes() {
  return {8, 64, 512, 4u << 10, 32u << 10, 256u << 10, 1u << 20};
}

uint32_t DefaultOps(uint32_t size) {
  constexpr uint32_t kMost = 200;
  constexpr uint32_t kFewest = 4;
  constexpr uint32_t kBytes = 2u << 20;
  return std::clamp(kBytes / size, kFewest, kMost);
}

void RunPush(const PushOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  oob->Connect();
  try {
    PushAll(options, open, oob, out);
  } catch (const std::exception& error) {
    oob->Abort(error.what());
    throw;
  }
}

}  // namespace exrnic
