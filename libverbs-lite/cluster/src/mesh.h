// SPDX-License-Identifier: BSD-2-Clause
// TCP between all nodes of a cluster: who meets whom, in any order of start, and small messages to
// all and from all. Each wait ends with the deadline, by an error that names who is missing.
#ifndef EXRNIC_CLUSTER_MESH_H
#define EXRNIC_CLUSTER_MESH_H

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace exrnic {

using MeshClock = std::chrono::steady_clock;

// A file descriptor that ends with its owner.
class MeshSocket {
 public:
  explicit MeshSocket(int fd = -1) : fd_(fd) {}
  ~MeshSocket();
  MeshSocket(MeshSocket&& other) noexcept;
  MeshSocket& operator=(MeshSocket&& other) noexcept;
  int fd() const { return fd_; }

 private:
  int fd_;
};

enum class MeshKind : uint32_t { kHello = 1, kInfo, kReady, kBye, kGaveUp };

struct MeshMessage {
  MeshKind kind = MeshKind::kHello;
  std::vector<uint8_t> body;
};

class Mesh {
 public:
  // Throws vl::ClusterError of addresses that are none, are there twice, or are too many.
  Mesh(std::vector<std::string> addresses, unsigned self);

  unsigned self() const { return self_; }
  unsigned nodes() const { return static_cast<unsigned>(addresses_.size()); }
  // "node 2 (10.0.0.3:7471)".
  std::string Name(unsigned node) const;
  std::string Names(const std::vector<unsigned>& nodes) const;

  // A connection with each other node.
  void Meet(MeshClock::time_point deadline);
  // body(node) to each other node, and what it has of the same kind: element n is node n's.
  std::vector<std::vector<uint8_t>> Exchange(
      MeshKind kind, const std::function<std::vector<uint8_t>(unsigned)>& body,
      MeshClock::time_point deadline);
  // What came since the last call: said(node, message), ended(node) where a connection has ended.
  void Watch(const std::function<void(unsigned, const MeshMessage&)>& said,
             const std::function<void(unsigned)>& ended);
  // Without waiting; whether it could.
  bool Tell(unsigned node, const MeshMessage& message);
  void Close(unsigned node);

 private:
  struct Hello {
    uint32_t node;   // who says it
    uint32_t nodes;  // how many it knows
    uint64_t list;   // digest of their addresses
  };
  struct Line {
    MeshSocket socket;
    bool connecting = false;  // a connect that has not ended
    bool met = false;
    std::vector<uint8_t> in;  // less than a message
    std::deque<MeshMessage> waiting;
    MeshClock::time_point again{};  // not to be tried before
  };

  void Listen();
  void Dial(unsigned node);
  void DialEnded(unsigned node);
  void Accept();
  // What came from whom this node has called, from one who has called, and from one who is known.
  void HearCalled(unsigned node);
  bool HearStranger(Line* stranger);  // false: it goes
  void HearMet(unsigned node);
  Hello ReadHello(const MeshMessage& message, const std::string& from);
  void SayHello(Line* line);
  std::vector<unsigned> Missing() const;
  void MeetSome(MeshClock::time_point deadline);
  // Whether the peer's message of this kind is there, and taken.
  bool TakeFrom(unsigned node, MeshKind kind, std::vector<uint8_t>* body);
  // Whatever others wait for of this node, they hear why it does not come.
  [[noreturn]] void GiveUp(const std::string& text, int error, std::vector<unsigned> peers);
  [[noreturn]] void FailEnded(unsigned node);

  const std::vector<std::string> addresses_;
  const unsigned self_;
  uint64_t digest_ = 0;
  MeshSocket listener_;
  std::vector<Line> lines_;      // of each node; the own one is not used
  std::vector<Line> strangers_;  // have connected, and not said who they are
};

}  // namespace exrnic

#endif  // EXRNIC_CLUSTER_MESH_H
