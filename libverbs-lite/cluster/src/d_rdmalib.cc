// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/d_rdmalib.hpp"

#include <cerrno>

namespace vl {

namespace {

constexpr uint32_t kPaperImmediate = 1234;  // the paper's calls have no argument for it

std::string WithPort(const std::string& address, int port) {
  const bool ipv6 = address.find(':') != address.rfind(':');
  if (ipv6 && address.front() != '[') return "[" + address + "]:" + std::to_string(port);
  const bool has_port = address.find(':', ipv6 ? address.find(']') : 0) != std::string::npos;
  return has_port ? address : address + ":" + std::to_string(port);
}

}  // namespace

void D_RDMALib::Initialize(const char* ip, const std::string* server, int number_of_server,
                           int port, std::vector<Bytes> buffers) {
  if (ip == nullptr || server == nullptr)
    throw ClusterError("initialize_rdma_connection: ip or server is null", EINVAL);
  if (number_of_server < 2 || number_of_server > static_cast<int>(kClusterNodesMax)) {
    throw ClusterError("initialize_rdma_connection: number_of_server is " +
                           std::to_string(number_of_server) + ": 2 to " +
                           std::to_string(kClusterNodesMax),
                       EINVAL);
  }
  ClusterOptions options;
  options.self = static_cast<unsigned>(number_of_server);
  for (int i = 0; i < number_of_server; ++i) {
    options.addresses.push_back(WithPort(server[i], port));
    if (server[i] == ip || options.addresses.back() == ip) options.self = static_cast<unsigned>(i);
  }
  if (options.self == static_cast<unsigned>(number_of_server)) {
    throw ClusterError(std::string("initialize_rdma_connection: ip is \"") + ip +
                           "\": none of the " + std::to_string(number_of_server) + " in server",
                       EINVAL);
  }
  options.device = device;
  options.meet_limit = limit;
  options.limit = limit;
  auto cluster = std::make_unique<Cluster>(std::move(options));
  cluster->Meet();
  cluster_ = std::move(cluster);
  buffers_ = std::move(buffers);
  received_.assign(buffers_.size(), Received());
}

Cluster* D_RDMALib::Made() const {
  if (cluster_ == nullptr)
    throw ClusterError("initialize_rdma_connection comes before all else", EINVAL);
  return cluster_.get();
}

void D_RDMALib::create_rdma_info() { Made()->CreateObjects(); }
void D_RDMALib::send_info_change_qp() { Made()->ConnectQueuePairs(); }

// Of each node; the byte behind the message is not the peer's.
std::vector<Bytes> D_RDMALib::Into() const {
  std::vector<Bytes> into;
  for (unsigned i = 0; i < buffers_.size(); ++i) {
    if (i == Made()->self()) into.push_back(Bytes());
    into.push_back(Bytes(buffers_[i].data(), buffers_[i].size() - 1));
  }
  into.resize(Made()->nodes());
  return into;
}

void D_RDMALib::EndText(unsigned i, const Received& received) {
  received_[i] = received;
  static_cast<char*>(buffers_[i].data())[received.bytes] = 0;
}

void D_RDMALib::Keep(const std::vector<Received>& all) {
  for (unsigned i = 0; i < buffers_.size(); ++i) EndText(i, all[i < Made()->self() ? i : i + 1]);
}

void D_RDMALib::rdma_comm(const std::string& opcode, const std::string& msg) {
  Keep(Made()->ManyToMany(ClusterOperationOf(opcode), msg, Into(), kPaperImmediate));
}

void D_RDMALib::rdma_one_to_many_send_msg(const std::string& opcode, const std::string& msg) {
  Made()->OneToManySend(ClusterOperationOf(opcode), msg, kPaperImmediate);
}

void D_RDMALib::rdma_one_to_many_recv_msg(const std::string& opcode) {
  ClusterOperationOf(opcode);
  Made();
  EndText(0, Made()->OneToManyReceive(0, Bytes(buffers_[0].data(), buffers_[0].size() - 1)));
}

void D_RDMALib::rdma_many_to_one_send_msg(const std::string& opcode, const std::string& msg) {
  Made()->ManyToOneSend(0, ClusterOperationOf(opcode), msg, kPaperImmediate);
}

void D_RDMALib::rdma_many_to_one_recv_msg(const std::string& opcode) {
  ClusterOperationOf(opcode);
  Keep(Made()->ManyToOneReceive(Into()));
}

void D_RDMALib::exit_rdma() {
  Made()->Leave();
  cluster_.reset();
}

}  // namespace vl
