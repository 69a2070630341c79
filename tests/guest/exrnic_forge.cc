// SPDX-License-Identifier: BSD-2-Clause
// exrnic-forge: what others may try against the Ethernet interface of a node. All of it is sent;
// none of it is to be taken for a frame. The guest there counts it:
//
//   rx_errors of the interface  4: two datagrams of a queue pair of this program that has the
//                               interfaces' Q_Key, and two frames that say to be of another node
//   BAD_QKEY of the RNIC        2: datagrams by the same names, of a process without privilege
#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "exrnic/verbs.hpp"
#include "exrnic_hw.h"

namespace exrnic::forge {
namespace {

constexpr uint32_t kPlainQkey = 0x1234;
constexpr uid_t kNobody = 65534;
constexpr uint16_t kProtocol = 0x88b6;  // IEEE local experimental EtherType 2
constexpr size_t kFrameBytes = 60;

using Frame = std::array<uint8_t, kFrameBytes>;

void set_address(uint8_t* at, uint32_t node) {
  for (int i = 0; i < 4; i++) at[i] = static_cast<uint8_t>(EXRNIC_MAC_PREFIX >> (24 - 8 * i));
  at[4] = static_cast<uint8_t>(node >> 8);
  at[5] = static_cast<uint8_t>(node);
}

Frame make_frame(uint32_t to, uint32_t from) {
  Frame frame{};
  set_address(frame.data(), to);
  set_address(&frame[ETH_ALEN], from);
  frame[2 * ETH_ALEN] = kProtocol >> 8;
  frame[2 * ETH_ALEN + 1] = kProtocol & 0xff;
  return frame;
}

// One queue pair of UD with that Q_Key, which sends the frame to the node's interface, and to all.
void send_datagrams(vl_rnic* rnic, uint32_t qkey, uint32_t node, const Frame& frame) {
  const vl::Owned<vl_pd> pd = vl::AllocatePd(rnic);
  const vl::Owned<vl_cq> cq = vl::CreateCq(rnic, 8);
  vl_qp_init_attr init = vl::QpAttributes(cq.get(), 2);
  init.service = VL_SERVICE_UD;
  init.max_inline = kFrameBytes;
  const vl::Owned<vl_qp> qp = vl::CreateQp(pd.get(), init);
  vl::ReadyDatagrams(qp.get(), qkey);
  const vl_sge sge = {vl::AddressOf(frame.data()), kFrameBytes, 0};
  for (const vl_destination& to : {vl::ToQp(node, EXRNIC_ETHERNET_QPN, EXRNIC_ETHERNET_QKEY),
                                   vl::ToGroup(EXRNIC_ETHERNET_GROUP, EXRNIC_ETHERNET_QKEY)}) {
    vl_send_wr wr = {};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_INLINE | VL_SEND_SIGNALED;
    wr.ud = to;
    vl::Check(vl_post_sq(qp.get(), &wr, nullptr), "vl_post_sq");
    if (vl::AwaitCompletion(cq.get(), "a datagram").status != VL_WC_SUCCESS) {
      throw std::runtime_error("a datagram was not sent");
    }
  }
}

// By the interface, as whoever may open a packet socket can.
void send_frame(const std::string& interface, const Frame& frame) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW, 0);
  vl::Check(fd, "socket");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  const ssize_t sent = ::sendto(fd, frame.data(), frame.size(), 0,
                                reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  ::close(fd);
  if (sent != static_cast<ssize_t>(frame.size())) vl::ThrowErrno("sendto");
}

void with_privilege(vl_rnic* rnic, const std::string& interface, uint32_t node) {
  const uint32_t own = vl::QueryRnic(rnic).node_id;
  const uint32_t third = own + node + 1;
  send_datagrams(rnic, EXRNIC_ETHERNET_QKEY, node, make_frame(node, own));
  send_frame(interface, make_frame(node, third));
  Frame to_all = make_frame(node, third);
  std::fill_n(to_all.begin(), ETH_ALEN, uint8_t{0xff});
  send_frame(interface, to_all);
}

void without_privilege(uint32_t node) {
  ::chmod("/dev/exrnic0", 0666);
  vl::Check(::setuid(kNobody), "setuid");
  const vl::Owned<vl_rnic> rnic = vl::OpenRnic();
  const uint32_t own = vl::QueryRnic(rnic.get()).node_id;
  send_datagrams(rnic.get(), kPlainQkey, node, make_frame(node, own));
  try {
    send_datagrams(rnic.get(), EXRNIC_ETHERNET_QKEY, node, make_frame(node, own));
  } catch (const std::exception&) {
    if (errno != EPERM) throw;
    return;
  }
  throw std::runtime_error("a process without privilege has got the interfaces' Q_Key");
}

}  // namespace
}  // namespace exrnic::forge

int main(int argc, char** argv) {
  uint32_t node = 0;
  std::string interface;
  CLI::App app("Tries what the Ethernet interface of another node must not take for a frame");
  app.add_option("--to", node, "the node")->required();
  app.add_option("--interface", interface, "the own one")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    {
      const auto rnic = vl::OpenRnic();
      exrnic::forge::with_privilege(rnic.get(), interface, node);
    }
    exrnic::forge::without_privilege(node);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-forge: {}\n", error.what());
    return 1;
  }
  return 0;
}
