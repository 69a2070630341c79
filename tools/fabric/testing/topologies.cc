// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/testing/topologies.h"

#include <random>

namespace exrnic::fabric::testing {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

void add_nodes(FakeFabric& fabric, Built& built, unsigned count) {
  for (unsigned i = 0; i < count; ++i) built.nodes.push_back(fabric.add_node(node_guid(i)));
}

void add_switches(FakeFabric& fabric, Built& built, unsigned count, size_t ports) {
  for (unsigned i = 0; i < count; ++i) {
    const auto index = static_cast<unsigned>(built.switches.size());
    built.switches.push_back(fabric.add_switch(switch_guid(index), ports));
  }
}

}  // namespace

uint64_t node_guid(unsigned index) { return (2 * uint64_t{index} + 1) * kGolden; }
uint64_t switch_guid(unsigned index) { return (2 * uint64_t{index} + 2) * kGolden; }

Built star(FakeFabric& fabric, unsigned nodes) {
  Built built;
  add_nodes(fabric, built, nodes);
  add_switches(fabric, built, 1, nodes + 2);
  for (unsigned i = 0; i < nodes; ++i) {
    fabric.join(built.nodes[i], 0, built.switches[0], static_cast<uint16_t>(i));
  }
  return built;
}

Built ring(FakeFabric& fabric, unsigned nodes) {
  Built built;
  add_nodes(fabric, built, nodes);
  add_switches(fabric, built, nodes, 4);
  for (unsigned i = 0; i < nodes; ++i) fabric.join(built.nodes[i], 0, built.switches[i], 0);
  for (unsigned i = 0; i < nodes; ++i) {
    fabric.join(built.switches[i], 1, built.switches[(i + 1) % nodes], 2);
  }
  return built;
}

Built leaf_spine(FakeFabric& fabric, unsigned nodes, unsigned of_a_leaf, unsigned spines) {
  Built built;
  const unsigned leaves = (nodes + of_a_leaf - 1) / of_a_leaf;
  add_nodes(fabric, built, nodes);
  add_switches(fabric, built, spines, leaves);
  add_switches(fabric, built, leaves, of_a_leaf + spines);
  for (unsigned i = 0; i < nodes; ++i) {
    fabric.join(built.nodes[i], 0, built.switches[spines + i / of_a_leaf],
                static_cast<uint16_t>(i % of_a_leaf));
  }
  for (unsigned leaf = 0; leaf < leaves; ++leaf) {
    for (unsigned spine = 0; spine < spines; ++spine) {
      fabric.join(built.switches[spines + leaf], static_cast<uint16_t>(of_a_leaf + spine),
                  built.switches[spine], static_cast<uint16_t>(leaf));
    }
  }
  return built;
}

Built fat_tree(FakeFabric& fabric, unsigned ports) {
  Built built;
  const unsigned half = ports / 2, edges = ports * half;
  add_nodes(fabric, built, edges * half);
  add_switches(fabric, built, 2 * edges + half * half, ports);
  const auto join = [&](unsigned a, unsigned port_a, unsigned b, unsigned port_b) {
    fabric.join(built.switches[a], static_cast<uint16_t>(port_a), built.switches[b],
                static_cast<uint16_t>(port_b));
  };
  for (unsigned i = 0; i < built.nodes.size(); ++i) {
    fabric.join(built.nodes[i], 0, built.switches[i / half], static_cast<uint16_t>(i % half));
  }
  for (unsigned pod = 0; pod < ports; ++pod) {
    for (unsigned i = 0; i < half; ++i) {
      const unsigned aggregation = edges + pod * half + i;
      for (unsigned edge = 0; edge < half; ++edge) {
        join(pod * half + edge, half + i, aggregation, edge);
      }
      for (unsigned up = 0; up < half; ++up) {
        join(aggregation, half + up, 2 * edges + i * half + up, pod);
      }
    }
  }
  return built;
}

Built torus(FakeFabric& fabric, const std::vector<unsigned>& sizes) {
  Built built;
  unsigned nodes = 1;
  for (const unsigned size : sizes) nodes *= size;
  add_nodes(fabric, built, nodes);
  add_switches(fabric, built, nodes, 1 + 2 * sizes.size());
  for (unsigned i = 0; i < nodes; ++i) fabric.join(built.nodes[i], 0, built.switches[i], 0);
  unsigned step = 1;
  for (unsigned i = 0; i < sizes.size(); step *= sizes[i++]) {
    for (unsigned at = 0; at < nodes; ++at) {
      const unsigned place = at / step % sizes[i];
      const unsigned next = at - place * step + (place + 1) % sizes[i] * step;
      fabric.join(built.switches[at], static_cast<uint16_t>(1 + 2 * i), built.switches[next],
                  static_cast<uint16_t>(2 + 2 * i));
    }
  }
  return built;
}

Built dragonfly(FakeFabric& fabric, unsigned nodes) {
  Built built;
  const unsigned of_a_group = 2 * nodes, groups = of_a_group * nodes + 1;
  add_nodes(fabric, built, nodes * of_a_group * groups);
  add_switches(fabric, built, of_a_group * groups, 4 * nodes - 1);
  const auto join = [&](unsigned a, unsigned port_a, unsigned b, unsigned port_b) {
    fabric.join(built.switches[a], static_cast<uint16_t>(port_a), built.switches[b],
                static_cast<uint16_t>(port_b));
  };
  for (unsigned i = 0; i < built.nodes.size(); ++i) {
    fabric.join(built.nodes[i], 0, built.switches[i / nodes], static_cast<uint16_t>(i % nodes));
  }
  const unsigned first_out = nodes + of_a_group - 1;
  for (unsigned group = 0; group < groups; ++group) {
    const unsigned first = group * of_a_group;
    for (unsigned a = 0; a < of_a_group; ++a) {
      for (unsigned b = a + 1; b < of_a_group; ++b) {
        join(first + a, nodes + b - 1, first + b, nodes + a);
      }
    }
    for (unsigned i = 0; i < of_a_group * nodes && group + i + 1 < groups; ++i) {
      const unsigned there = of_a_group * nodes - 1 - i;
      join(first + i / nodes, first_out + i % nodes, (group + i + 1) * of_a_group + there / nodes,
           first_out + there % nodes);
    }
  }
  return built;
}

Built chain(FakeFabric& fabric, unsigned switches) {
  Built built;
  add_nodes(fabric, built, 2);
  add_switches(fabric, built, switches, 3);
  for (unsigned i = 0; i + 1 < switches; ++i) {
    fabric.join(built.switches[i], 1, built.switches[i + 1], 2);
  }
  fabric.join(built.nodes[0], 0, built.switches.front(), 0);
  fabric.join(built.nodes[1], 0, built.switches.back(), 0);
  return built;
}

Built random_fabric(FakeFabric& fabric, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  Built built;
  const unsigned switches = 2 + below(14), nodes = 2 + below(20), more = below(2 * switches);
  constexpr size_t kPorts = 64;
  add_nodes(fabric, built, nodes);
  add_switches(fabric, built, switches, kPorts);
  const auto free_port = [&](int device) {
    const std::vector<FakePort>& ports = fabric.at(device).ports;
    unsigned port = below(kPorts);
    while (ports[port].peer >= 0) port = (port + 1) % kPorts;
    return static_cast<uint16_t>(port);
  };
  const auto join = [&](int a, int b) {
    const uint16_t port = free_port(a);
    fabric.join(a, port, b, free_port(b));
  };
  for (unsigned i = 1; i < switches; ++i) join(built.switches[i], built.switches[below(i)]);
  for (unsigned i = 0; i < more; ++i) {
    const unsigned a = below(switches), b = below(switches);
    if (a != b) join(built.switches[a], built.switches[b]);
  }
  for (const int node : built.nodes) {
    const int at = built.switches[below(switches)];
    fabric.join(node, 0, at, free_port(at));
  }
  return built;
}

}  // namespace exrnic::fabric::testing
