// SPDX-License-Identifier: BSD-2-Clause
// The four steps and the patterns of the paper "RDMA library for distributed clusters" under its
// own names, on exrnic/cluster.hpp: a program that was written for its class works with this one.
//
//   1. variables: the own address, those of all nodes, buffers for each
//   2. initialize_rdma_connection, create_rdma_info, send_info_change_qp
//   3. rdma_comm, rdma_one_to_many_..., rdma_many_to_one_...
//   4. exit_rdma
//
// Buffers are numbered as there: recv_buffer[i] is for the i-th of the other nodes, in the order of
// the list, this node left out. Of one-to-many the one that is written is recv_buffer[0]. Behind
// each message comes a byte of 0. opcode: "send", "send_with_imm", "write" or "write_with_imm".
//
// What the paper did otherwise: a receiver hears of a WRITE by the RNIC, not by a socket; receives
// need no opcode, and ignore theirs once it is one of the four; messages go from the caller's
// string, so nothing is copied into send buffers; errors are exceptions (ClusterError) and name the
// peer.
#ifndef EXRNIC_D_RDMALIB_HPP
#define EXRNIC_D_RDMALIB_HPP

#include <memory>
#include <string>
#include <vector>

#include "exrnic/cluster.hpp"

namespace vl {

class D_RDMALib {
 public:
  // What the paper's class has no argument for; before initialize_rdma_connection.
  std::string device;
  std::chrono::milliseconds limit{30000};

  // ip: one of server[0 .. number_of_server - 1]; server[0] is the one of one-to-many and
  // many-to-one. An entry with a port ("HOST:PORT") keeps it, others get Port. Nodes meet here.
  template <size_t kBytes>
  void initialize_rdma_connection(const char* ip, std::string server[], int number_of_server,
                                  int Port, char send[][kBytes], char recv[][kBytes]) {
    (void)send;
    std::vector<Bytes> buffers;
    for (int i = 0; i + 1 < number_of_server; ++i) buffers.push_back(Bytes(recv[i], kBytes));
    Initialize(ip, server, number_of_server, Port, buffers);
  }
  void create_rdma_info();
  void send_info_change_qp();

  // Many-to-many: msg to all others, and theirs.
  void rdma_comm(const std::string& opcode, const std::string& msg);
  void rdma_one_to_many_send_msg(const std::string& opcode, const std::string& msg);
  void rdma_one_to_many_recv_msg(const std::string& opcode);
  void rdma_many_to_one_send_msg(const std::string& opcode, const std::string& msg);
  void rdma_many_to_one_recv_msg(const std::string& opcode);

  void exit_rdma();

  // Bytes of the last message in recv_buffer[i], and its immediate data, if it had some.
  const Received& received(unsigned i) const { return received_.at(i); }

 private:
  void Initialize(const char* ip, const std::string* server, int number_of_server, int port,
                  std::vector<Bytes> buffers);
  Cluster* Made() const;
  std::vector<Bytes> Into() const;
  void Keep(const std::vector<Received>& all);
  void EndText(unsigned i, const Received& received);

  std::unique_ptr<Cluster> cluster_;
  std::vector<Bytes> buffers_;  // with room for the byte of 0
  std::vector<Received> received_;
};

// Its name in earlier programs.
using myRDMA = D_RDMALib;

}  // namespace vl

#endif  // EXRNIC_D_RDMALIB_HPP
