// SPDX-License-Identifier: BSD-2-Clause
// Programs on several nodes that send each other messages of any size: a full mesh of queue pairs,
// made over TCP, and on it transfers between two nodes and patterns among all. For C++17, on
// exrnic/verbs.h. The paper's own names are in exrnic/d_rdmalib.hpp, on the same engine.
//
// Steps: the constructor checks what it is given; Meet finds the other nodes by TCP; CreateObjects
// makes a queue pair for each; ConnectQueuePairs exchanges their numbers. Then transfers, then
// Leave. Connect does the three in the middle.
//
// Transfers: a node Receives into a buffer, and tells the sender by a PUSH where it lies and how
// long it is; the sender's message goes there by one DMA, without a copy. The n-th Receive from a
// node takes the n-th message of it, those of patterns counted: so all nodes call patterns in one
// order, and a buffer is the engine's until its transfer is Done. Whoever waits, or polls, moves
// all transfers of its node on; nobody else does.
//
// Errors: ClusterError, which names the call, the argument, its value and limit, and the peers; of
// what the RNIC refuses to this node VerbsError (exrnic/verbs.hpp).
// A peer that dies, or does not answer, fails the transfers with it and no others. Every wait has a
// limit. Threads: any, at any time; but a Cluster is destroyed by one, behind all others' calls.
#ifndef EXRNIC_CLUSTER_HPP
#define EXRNIC_CLUSTER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace vl {

constexpr unsigned kClusterNodesMax = 256;
constexpr size_t kClusterMessageMax = 0x7fff'f000;  // bytes
constexpr unsigned kClusterReceivesMax = 256;

// Memory of the caller: an address and bytes, or any container that lies in one piece.
template <typename Void>
class BasicBytes {
 public:
  constexpr BasicBytes() = default;
  constexpr BasicBytes(Void* data, size_t size) : data_(data), size_(size) {}
  template <
      typename Container, typename Pointer = decltype(std::declval<Container&>().data()),
      typename = std::enable_if_t<std::is_convertible_v<Pointer, Void*> &&
                                  std::is_trivially_copyable_v<std::remove_pointer_t<Pointer>>>>
  constexpr BasicBytes(Container&& of)  // NOLINT: a container is its bytes
      : data_(of.data()), size_(of.size() * sizeof(*of.data())) {}
  constexpr Void* data() const { return data_; }
  constexpr size_t size() const { return size_; }

 private:
  Void* data_ = nullptr;
  size_t size_ = 0;
};
using Bytes = BasicBytes<void>;
using ConstBytes = BasicBytes<const void>;

// How a message goes: a SEND into the receive of the peer; or a WRITE (PUSH) into the same buffer,
// of which a PUSH behind it in the same queue pair tells the peer. "With immediate": with 32 bits
// of the sender's.
enum class ClusterOperation { kSend, kSendWithImm, kWrite, kWriteWithImm };

// Of "send", "send_with_imm", "write", "write_with_imm". Throws ClusterError of any other text.
ClusterOperation ClusterOperationOf(const std::string& name);
const char* ClusterOperationName(ClusterOperation operation);

class ClusterError : public std::runtime_error {
 public:
  ClusterError(const std::string& text, int error, std::vector<unsigned> peers = {})
      : std::runtime_error(text), error_(error), peers_(std::move(peers)) {}
  // EINVAL: an argument. EMSGSIZE: a message is longer than its buffer. ETIMEDOUT: the limit of
  // time. ECONNRESET: the peer is gone. EPROTO: it speaks otherwise, or of another cluster. Or that
  // of a verb.
  int error() const { return error_; }
  // The nodes that the text names.
  const std::vector<unsigned>& peers() const { return peers_; }

 private:
  int error_;
  std::vector<unsigned> peers_;
};

struct ClusterOptions {
  // Of all nodes, in the same order at each: "HOST:PORT" or "[IPV6]:PORT". At most
  // kClusterNodesMax, none twice.
  std::vector<std::string> addresses;
  unsigned self = 0;                            // the own one of them: this node listens there
  std::string device;                           // as of vl_open_rnic; "": its default
  std::chrono::milliseconds meet_limit{30000};  // of all that Connect does
  std::chrono::milliseconds limit{30000};       // of a wait or a pattern, unless it names another
  unsigned receives = 16;  // under way from each peer; more wait in line. 1 to kClusterReceivesMax
};

struct Received {
  size_t bytes = 0;
  std::optional<uint32_t> immediate;  // of an operation "with immediate"
  uint64_t timestamp_ns = 0;          // time of the device when it completed
};

class ClusterEngine;
struct ClusterTransfer;

// A message under way: a future. Copies are the same transfer. Dropping it does not end it.
class Transfer {
 public:
  Transfer(std::shared_ptr<ClusterEngine> engine, std::shared_ptr<ClusterTransfer> state)
      : engine_(std::move(engine)), state_(std::move(state)) {}
  // Moves on; true: it has ended, well or not.
  bool Done();
  // Of a send `bytes` and the time alone. Throws if it has failed, or has not ended within the
  // limit: then it is still under way, until its end or Cut.
  Received Wait();
  Received Wait(std::chrono::milliseconds limit);
  unsigned peer() const;

 private:
  std::shared_ptr<ClusterEngine> engine_;
  std::shared_ptr<ClusterTransfer> state_;
};

// Memory that stays registered for as long as this lives: transfers in it need no registration of
// their own. It lives as long as they are under way. Of ConstBytes: messages to send alone.
class Registration {
 public:
  Registration(std::shared_ptr<ClusterEngine> engine, ConstBytes memory, bool receives);
  ~Registration();
  Registration(Registration&&) noexcept = default;
  Registration& operator=(Registration&&) = delete;

 private:
  std::shared_ptr<ClusterEngine> engine_;
  uint64_t number_;
};

// The tree of OneToMany: node v (counted from the root) has children v * fan_out + 1 and on, and
// hands each chunk down as it comes.
struct ClusterTree {
  unsigned fan_out;
  size_t chunk;
};
// That which takes least time on lines of one rate: a chain for long messages, wide for short ones.
ClusterTree ChooseClusterTree(unsigned nodes, size_t bytes);

class Cluster {
 public:
  explicit Cluster(ClusterOptions options);
  ~Cluster();  // without Leave the others see a node that died
  Cluster(Cluster&&) noexcept = default;
  Cluster& operator=(Cluster&&) = delete;

  void Meet();
  void CreateObjects();
  void ConnectQueuePairs();
  void Connect();
  // Tells the others that this node is done. What it has sent stays good. Transfers under way fail.
  void Leave();

  unsigned self() const;
  unsigned nodes() const;
  // "" while the peer is there; else why it is not.
  std::string WhyGone(unsigned peer);
  std::string Name(unsigned node) const;  // "node 2 (HOST:PORT)"
  // Ends the connection with a peer: its transfers fail, and their buffers are the caller's.
  void Cut(unsigned peer, const std::string& why);

  // peer: any node but self. What is wrong with the call is thrown at once, what becomes of the
  // transfer by Wait. A message longer than its Receive fails at both ends, with EMSGSIZE.
  Transfer Send(unsigned peer, ClusterOperation operation, ConstBytes message,
                uint32_t immediate = 0);
  Transfer Receive(unsigned peer, Bytes buffer);
  void Poll();
  Registration Register(Bytes memory);
  Registration RegisterToSend(ConstBytes memory);

  // Patterns: all nodes call the same one. They end when all parts have, and then throw if some
  // have failed: the error names these peers, who are cut off if they took too long. The others'
  // parts are good.

  // The message to each other node, and theirs into into[node]; into[self] is not touched. Element
  // n of the result is that of node n.
  std::vector<Received> ManyToMany(ClusterOperation operation, ConstBytes message,
                                   const std::vector<Bytes>& into, uint32_t immediate = 0);
  // The root's message to all others, by ChooseClusterTree.
  void OneToManySend(ClusterOperation operation, ConstBytes message, uint32_t immediate = 0);
  Received OneToManyReceive(unsigned root, Bytes buffer);
  // All others' to the root: into[node], as in ManyToMany.
  void ManyToOneSend(unsigned root, ClusterOperation operation, ConstBytes message,
                     uint32_t immediate = 0);
  std::vector<Received> ManyToOneReceive(const std::vector<Bytes>& into);
  // Returns when all nodes have called it.
  void Barrier();

 private:
  std::shared_ptr<ClusterEngine> engine_;
};

}  // namespace vl

#endif  // EXRNIC_CLUSTER_HPP
