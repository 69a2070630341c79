// SPDX-License-Identifier: BSD-2-Clause
#include "fetch_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "exrnic/connect.h"

namespace exrnic {

namespace {

constexpr int kPatienceMs = 60'000;
constexpr uint32_t kPullBytes = 1 << 20;
constexpr uint32_t kPulls = 4;                      // under way at a time
constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // that a client has memory for
constexpr int kFetchMs = 3'600'000;                 // that a client takes for all bytes

// What each end has, in the order in which it is made.
struct End {
  explicit End(const OpenRnicCall& open)
      : rnic(Own(open(), "cannot open the RNIC")),
        pd(AllocatePd(rnic.get())),
        cq(CreateCq(rnic.get(), kPulls)),
        qp(CreateQp(pd.get(), Attributes(cq.get()))) {}

  static vl_qp_init_attr Attributes(vl_cq* cq) {
    vl_qp_init_attr init = QpAttributes(cq, kPulls);
    init.max_reads_out = kPulls;
    init.max_reads_in = kPulls;
    return init;
  }

  Owned<vl_rnic> rnic;
  Owned<vl_pd> pd;
  Owned<vl_cq> cq;
  Owned<vl_qp> qp;
};

// Behind it the queue pairs of both ends are connected, and this one knows what the other told.
vl_conn_info Meet(const End& end, const Stream& stream, const vl_conn_info& mine) {
  vl_conn_info theirs = {};
  Check(vl_connect_qp(end.qp.get(), stream.fd(), &mine, &theirs, kPatienceMs), "vl_connect_qp");
  return theirs;
}

void PostPull(const End& end, const vl_conn_info& from, uint64_t offset, vl_sge to) {
  vl_send_wr wr = {};
  wr.wr_id = offset;
  wr.sg_list = &to;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PULL;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = from.stag;
  wr.remote_address = from.address + offset;
  Check(vl_post_sq(end.qp.get(), &wr, nullptr), "vl_post_sq");
}

void AwaitPull(const End& end) {
  const vl_wc wc = AwaitCompletion(end.cq.get(), "a PULL");
  if (wc.status == VL_WC_SUCCESS) return;
  throw std::runtime_error("the PULL at byte " + std::to_string(wc.wr_id) +
                           " failed: " + vl_status_string(wc.status));
}

// All bytes of the peer's memory, in pieces of which some are always under way.
void PullAll(const End& end, const vl_conn_info& from, std::vector<uint8_t>* bytes) {
  const Owned<vl_mr> mr =
      AllocateMr(end.pd.get(), bytes->data(), bytes->size(), VL_ACCESS_LOCAL_WRITE);
  uint32_t under_way = 0;
  for (uint64_t offset = 0; offset < bytes->size(); offset += kPullBytes) {
    if (under_way == kPulls) {
      AwaitPull(end);
      --under_way;
    }
    const uint64_t left = bytes->size() - offset;
    PostPull(end, from, offset,
             {AddressOf(bytes->data() + offset),
              static_cast<uint32_t>(std::min<uint64_t>(left, kPullBytes)), vl_mr_stag(mr.get())});
    ++under_way;
  }
  for (; under_way > 0; --under_way) AwaitPull(end);
}

void ExpectServable(const std::string& name, uint64_t bytes) {
  if (bytes == 0)
    throw std::runtime_error(name + " is empty, and a memory region has at least a byte");
  if (bytes > kMostBytes)
    throw std::runtime_error(name + " is too large: it has " + std::to_string(bytes) +
                             " bytes, and a client takes " + std::to_string(kMostBytes) +
                             " at most");
}

}  // namespace

FetchedFile ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw std::runtime_error("cannot read " + path + ": " + strerror(errno));
  const Stream file(fd, "open");
  struct stat status = {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    throw std::runtime_error("cannot read " + path + ": it is no regular file; name one");
  ExpectServable(path, static_cast<uint64_t>(status.st_size));
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = read(fd, bytes.data() + done, bytes.size() - done);
    if (got < 0) throw std::runtime_error("cannot read " + path + ": " + strerror(errno));
    if (got == 0)
      throw std::runtime_error("cannot read " + path + ": it becomes shorter meanwhile");
    done += static_cast<size_t>(got);
  }
  return {path, std::move(bytes)};
}

void ServeFile(FetchedFile file, const Stream& listener, const OpenRnicCall& open) {
  ExpectServable(file.name, file.bytes.size());
  const End end(open);
  const Owned<vl_mr> mr =
      AllocateMr(end.pd.get(), file.bytes.data(), file.bytes.size(), VL_ACCESS_REMOTE_READ);
  vl_conn_info mine = {};
  mine.address = AddressOf(file.bytes.data());
  mine.length = file.bytes.size();
  mine.stag = vl_mr_stag(mr.get());
  mine.private_len =
      static_cast<uint32_t>(std::min<size_t>(file.name.size(), sizeof(mine.private_data)));
  memcpy(mine.private_data, file.name.data(), mine.private_len);

  const Stream client(vl_conn_accept(listener.fd(), kPatienceMs), "vl_conn_accept");
  Meet(end, client, mine);
  if (vl_conn_meet(client.fd(), kFetchMs) == 0) return;
  if (errno != ECONNRESET) ThrowErrno("vl_conn_meet");
  throw std::runtime_error("the client left before it had all of " + file.name);
}

FetchedFile FetchFile(const std::string& address, const OpenRnicCall& open) {
  const End end(open);
  const Stream server(vl_conn_connect(address.c_str(), kPatienceMs), "vl_conn_connect");
  const vl_conn_info theirs = Meet(end, server, {});
  FetchedFile file;
  file.name.assign(theirs.private_data, theirs.private_data + theirs.private_len);
  if (theirs.length == 0 || theirs.length > kMostBytes)
    throw std::runtime_error("the server says that its file has " + std::to_string(theirs.length) +
                             " bytes: 1 to " + std::to_string(kMostBytes) + " can be fetched");
  file.bytes.resize(theirs.length);
  PullAll(end, theirs, &file.bytes);
  // The server may go.
  Check(vl_conn_meet(server.fd(), kPatienceMs), "vl_conn_meet");
  return file;
}

}  // namespace exrnic
