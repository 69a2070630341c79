// SPDX-License-Identifier: BSD-2-Clause
// An adapter: an RNIC as this process uses it. Everything is called under the library's lock, and
// waits, where it does, without it.
//
// How processes find each other: each has a queue pair for datagrams in the multicast group of
// SISCI. Who wants to connect asks the group who has it; the owner answers, and so do other
// processes of that node if nobody there has it. The two then make a link, unless they have one:
// from then on all they say is reliable, and each end notices that the other has died because its
// queue pair is gone.
#ifndef EXRNIC_SISCI_ADAPTER_H
#define EXRNIC_SISCI_ADAPTER_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "library.h"
#include "link.h"
#include "wire.h"

namespace exrnic::sisci {

class Adapter : public std::enable_shared_from_this<Adapter> {
 public:
  // Throws vl::VerbsError.
  Adapter(unsigned number, const std::string& device);
  // Not under the lock.
  ~Adapter();

  unsigned number() const { return number_; }
  uint32_t node() const { return attr_.node_id; }
  const vl_rnic_attr& attr() const { return attr_; }
  vl_pd* pd() const { return pd_.get(); }
  // Other processes may have it, too.
  bool is_shared() const { return is_shared_; }
  bool has_windows() const { return is_shared_; }
  bool LinkIsUp();
  bool link_up() const { return link_up_; }  // as was told last; without the lock
  // Of what one process of this host has at a time.
  std::string HostNameOf(What what, uint32_t number) const;

  // A link to who has `number` of `what` on the node. Throws SCI_ERR_NO_SUCH_SEGMENT, _TIMEOUT,
  // _NO_LINK_ACCESS, _CONNECTION_REFUSED. given_up, unless NULL: becomes true, with
  // Library::answered notified, when nobody wants it any more.
  std::shared_ptr<Link> FindOwner(Lock* lock, uint32_t node, What what, uint32_t number,
                                  Clock::time_point deadline, const bool* given_up = nullptr);
  // Whether a process with SISCI answers there.
  bool Probe(Lock* lock, uint32_t node, Clock::time_point deadline);
  // True: the link is to this process.
  bool IsOwn(const Link& link) const;

  // The answer to a question. Throws SCI_ERR_TIMEOUT, SCI_ERR_NODE_NOT_RESPONDING.
  Message Ask(Lock* lock, const std::shared_ptr<Link>& link, Message question,
              Clock::time_point deadline, const bool* given_up = nullptr);
  // False: the link is lost, or so much waits that this is dropped.
  bool Send(const std::shared_ptr<Link>& link, Message message,
            const std::vector<uint8_t>& data = {});

  // Starts a transfer, which ends in any case.
  void Start(const std::shared_ptr<Link>& link, const std::shared_ptr<Transfer>& transfer);
  // False: not by then.
  bool Await(Lock* lock, const Transfer& transfer, Clock::time_point deadline);
  // What is not posted is dropped.
  void Abort(const std::shared_ptr<Link>& link, const std::shared_ptr<Transfer>& transfer);

  // A queue pair that carries bytes to the other end of a link; its peer is there until CloseQp.
  vl::Owned<vl_qp> OpenQp(Lock* lock, const std::shared_ptr<Link>& link);
  void CloseQp(const std::shared_ptr<Link>& link, vl::Owned<vl_qp> qp);

  // Registered memory for copies.
  static constexpr size_t kBounceBytes = 16 << 10;
  static constexpr unsigned kBounces = 16;
  // A free one, awaited; or, unless it is awaited, kBounces if there is none. Of them a link has a
  // share.
  unsigned TakeBounce(Lock* lock, Link* link, bool await);
  void GiveBounce(Link* link, unsigned bounce);
  uint8_t* BounceAt(unsigned bounce) { return bounces_.data() + bounce * kBounceBytes; }
  uint32_t bounce_stag() const { return vl_mr_stag(bounces_mr_.get()); }

  // Looks for what has come.
  void Progress();
  // Looks for it again and again, for a moment; true once done().
  template <typename Done>
  bool Spin(Lock* lock, std::chrono::nanoseconds limit, Done done) {
    const auto until = Clock::now() + limit;
    while (!done()) {
      Progress();
      if (done()) break;
      if (Clock::now() >= until) return false;
      lock->unlock();
      lock->lock();
    }
    return true;
  }

  // ---- What others may connect to
  bool Add(LocalInterrupt* interrupt);  // false: there is one with its number
  void Remove(LocalInterrupt* interrupt);
  bool HasInterrupt(bool with_data, uint32_t number) const {
    return interrupts_.count({with_data, number}) != 0;
  }
  // One with data was taken from its queue.
  bool Credit(const std::weak_ptr<Link>& link, uint32_t connection);  // false: it is gone
  // Ends or tells all connections to a segment.
  void TellConnections(const LocalSegment& segment, sci_segment_cb_reason_t reason, bool end);

  // Window queue pairs, whose errors are told to their segment.
  void Watch(vl_qp* qp, std::weak_ptr<RemoteSegment> segment) { watched_[qp] = std::move(segment); }
  void Unwatch(vl_qp* qp) { watched_.erase(qp); }

 private:
  struct Question {
    std::shared_ptr<Link> link;  // null: by datagrams, to...
    uint32_t node = 0;           // ...this one
    uint32_t qpn = 0;            // ...and, unless 0, this queue pair
    std::function<void(const Message&)> then;
    bool done = false;
    Message answer = {};
    uint32_t answer_qpn = 0;
  };

  // adapter.cc
  void Run();
  void TakeEvents();
  void TakeAsyncEvents();
  void TellLink();
  void Arm();
  void ArmData();
  vl::Owned<vl_qp> MakeQp(vl_cq* cq, vl_srq* srq, uint32_t sends, uint32_t reads_out,
                          uint32_t reads_in);
  void Connect(vl_qp* qp, uint32_t node, uint32_t qpn);

  // meeting.cc: datagrams
  void PostDatagramReceive(uint64_t index);
  void SendDatagram(const Message& message, const vl_destination& to);
  void TakeDatagram(const vl_wc& wc);
  void TakeWho(const Message& message, const vl_wc& wc);
  void TakeLink(const Message& message, const vl_wc& wc);
  bool Owns(What what, uint32_t number) const;
  std::shared_ptr<Question> AskByDatagram(Lock* lock, Message message, const vl_destination& to,
                                          uint32_t node, uint32_t qpn, Clock::time_point deadline,
                                          const bool* given_up);
  std::shared_ptr<Link> LinkTo(Lock* lock, uint32_t node, uint32_t qpn, uint64_t life,
                               Clock::time_point deadline, const bool* given_up);
  bool IsGivenUp(const bool* given_up) const { return gone_ || (given_up != nullptr && *given_up); }

  // messages.cc: links
  void PollMessages();
  void PostReceive(uint64_t index);
  bool CanPost(const Link& link, size_t bytes) const;
  void Post(Link* link, const Message& message, const std::vector<uint8_t>& data);
  void PostBacklog(Link* link);
  void ProbeLinks();
  void TakeSent(const vl_wc& wc);
  void TakeMessage(const vl_wc& wc, uint64_t index);
  void TakeAnswer(const std::shared_ptr<Link>& link, const Message& message);
  void TakeNotice(const Link& link, const Message& message);
  void Lose(const std::shared_ptr<Link>& link);
  void LoseAll();
  void LetDie(const std::shared_ptr<Link>& link);
  void BuryDead();
  void Forget(vl::Owned<vl_qp> qp);

  // service.cc: what others ask for
  void Serve(const std::shared_ptr<Link>& link, const Message& message, const uint8_t* data);
  void ServeConnect(const std::shared_ptr<Link>& link, const Message& message);
  void ServeInterrupt(const std::shared_ptr<Link>& link, const Message& message,
                      const uint8_t* data);
  void ServeOpenQp(const std::shared_ptr<Link>& link, const Message& message);
  void AddCredit(const Connection& connection);
  void Drop(Link* link, uint32_t connection, sci_segment_cb_reason_t reason);

  // transfers.cc
  void PollData();
  void Pump(const std::shared_ptr<Link>& link);
  void OpenData(const std::shared_ptr<Link>& link);
  void MendData(const std::shared_ptr<Link>& link);
  bool PostPiece(Link* link, const std::shared_ptr<Transfer>& transfer);
  void End(Link* link, const std::shared_ptr<Transfer>& transfer, sci_error_t status);

  const unsigned number_;
  const std::string device_;
  const bool is_shared_;
  const uint64_t life_;
  const vl::Owned<vl_rnic> rnic_;
  const vl_rnic_attr attr_;
  const vl::Owned<vl_pd> pd_;
  const vl::Owned<vl_comp_channel> channel_;
  const vl::Owned<vl_cq> messages_cq_;
  const vl::Owned<vl_cq> data_cq_;
  const vl::Owned<vl_srq> srq_;

  std::vector<Message> datagrams_;  // where they are received
  const vl::Owned<vl_mr> datagrams_mr_;
  std::vector<uint8_t> received_;  // where messages are
  const vl::Owned<vl_mr> received_mr_;
  std::vector<uint8_t> sent_;  // messages that are too long to be inline
  const vl::Owned<vl_mr> sent_mr_;
  std::vector<uint8_t> bounces_;
  const vl::Owned<vl_mr> bounces_mr_;
  std::vector<uint64_t> credits_;  // interrupts taken, by connection; others read them
  const vl::Owned<vl_mr> credits_mr_;
  std::vector<bool> credit_used_;

  const vl::Owned<vl_qp> datagram_qp_;
  std::optional<vl::GroupMember> group_;

  std::vector<uint32_t> free_sent_;
  std::vector<unsigned> free_bounces_;
  uint32_t datagrams_under_way_ = 0;
  uint32_t sends_under_way_ = 0;
  uint32_t pieces_under_way_ = 0;
  unsigned sleepers_ = 0;  // threads that sleep until a transfer ends
  unsigned wanting_ = 0;   // transfers that want the thread
  bool messages_armed_ = false;
  bool data_armed_ = false;
  bool gone_ = false;
  std::atomic<bool> link_up_{true};

  uint32_t next_question_;
  std::unordered_map<uint32_t, std::shared_ptr<Question>> questions_;
  using Name = std::pair<uint32_t, uint32_t>;   // of a process: node and queue pair for datagrams
  std::map<Name, std::shared_ptr<Link>> made_;  // links of this process
  // Those of others, by the life of the process, too: it alone ends its link.
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::shared_ptr<Link>> served_;
  std::vector<std::shared_ptr<Link>> dying_;
  std::unordered_map<uint32_t, std::shared_ptr<Link>> by_qpn_;
  std::map<vl_qp*, std::weak_ptr<RemoteSegment>> watched_;
  std::map<std::pair<bool, uint32_t>, LocalInterrupt*> interrupts_;
  uint32_t next_connection_ = 0;
  size_t connections_ = 0;

  int wake_ = -1;
  bool stop_ = false;
  Clock::time_point next_probe_;
  std::thread thread_;
};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_ADAPTER_H
