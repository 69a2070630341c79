// SPDX-License-Identifier: BSD-2-Clause
// exrnic-sim, and this process as the driver of its nodes.
#ifndef EXRNIC_LIBVERBS_SIM_FIXTURE_H
#define EXRNIC_LIBVERBS_SIM_FIXTURE_H

#include <cstdint>
#include <string>
#include <vector>

#include "sim/testing/simulator_process.h"
#include "verbs_objects.h"

namespace exrnic {

// Nodes; their RNICs by name. Of node 0 GDB can debug the firmware.
struct Fixture {
  explicit Fixture(const std::string& core = "ref", uint32_t nodes = 2)
      : simulator(Arguments(folder, core, nodes)) {
    simulator.wait_until_ready();
  }
  static std::vector<std::string> Arguments(const TempDir& folder, const std::string& core,
                                            uint32_t nodes) {
    std::vector<std::string> arguments = {"--core", core, "--control", folder / "control"};
    for (uint32_t node = 0; node < nodes; ++node) {
      arguments.push_back("--node");
      arguments.push_back("vfio-user:" + folder / std::to_string(node));
    }
    if (core == "rtl") {
      arguments.push_back("--gdb");
      arguments.push_back("0:" + folder / "gdb");
    }
    return arguments;
  }
  std::string Name(uint32_t node) const { return "sim:" + folder / std::to_string(node); }
  Owned<vl_rnic> Open(uint32_t node) { return Owned<vl_rnic>(OpenDevice(Name(node))); }

  TempDir folder;
  Simulator simulator;
};

// One of everything on a node.
struct SimEnd {
  explicit SimEnd(vl_rnic* opened)
      : rnic(opened),
        pd(Own(vl_allocate_pd(rnic.get()), "vl_allocate_pd")),
        cq(Own(vl_create_cq(rnic.get(), 64, nullptr), "vl_create_cq")),
        qp(CreateQp(pd.get(), QpAttributes(cq.get(), 16, 16))) {}

  void Push(uint64_t wr_id, vl_sge from, uint64_t to, uint32_t stag) {
    vl_send_wr wr = {};
    wr.wr_id = wr_id;
    wr.sg_list = &from;
    wr.num_sge = 1;
    wr.opcode = VL_OP_PUSH;
    wr.flags = VL_SEND_SIGNALED;
    wr.remote_address = to;
    wr.remote_stag = stag;
    Check(vl_post_sq(qp.get(), &wr, nullptr), "vl_post_sq");
  }

  Owned<vl_rnic> rnic;
  Owned<vl_pd> pd;
  Owned<vl_cq> cq;
  Owned<vl_qp> qp;
};

// Both nodes, connected.
struct SimPair {
  explicit SimPair(const std::string& core = "ref")
      : fixture(core),
        ends{SimEnd(OpenDevice(fixture.Name(0))), SimEnd(OpenDevice(fixture.Name(1)))} {
    for (uint32_t node = 0; node < 2; ++node) {
      ConnectQp(ends[node].qp.get(), 1 - node, vl_qp_number(ends[1 - node].qp.get()));
    }
  }

  Fixture fixture;
  SimEnd ends[2];
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_FIXTURE_H
