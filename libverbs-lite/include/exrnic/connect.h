/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How two programs make a connection of their queue pairs: they tell each other numbers and memory
 * over TCP, any other stream socket, or a serial line, and wait for each other where one must. One
 * program runs in processes and in guests that have no network: only its address differs.
 *
 * A serial line ("/dev/ttyS1") joins two ends and no more. It is set to raw mode. An end may begin
 * earlier than its peer, and what another program left on the line is skipped.
 *
 * Errors: -1 with errno. ETIMEDOUT: the peer took longer than timeout_ms (0 or more; each call has
 * that much time in all). ECONNRESET: it closed the stream, gave up, or was started
 * anew. EPROTO: what it sent is no message of
 * these calls, or not the one that is due. EPROTONOSUPPORT: it speaks another version. EINVAL: a
 * null pointer, a negative time, or an address that is none. vl_error_text() says more.
 *
 * Threads: one at a time for each file descriptor. File descriptors are the caller's, who closes
 * them; they may be blocking or not. Between these calls the stream is the program's own, and both
 * ends read all that the other one wrote there.
 */
#ifndef EXRNIC_CONNECT_H
#define EXRNIC_CONNECT_H

#include <stdint.h>

#include "exrnic/verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VL_CONN_PRIVATE_MAX 64

/* What one end tells the other. Integers in host byte order. */
struct vl_conn_info {
  uint32_t node_id;     /* of its RNIC; set by vl_connect_qp */
  uint32_t qpn;         /* of its queue pair; set by vl_connect_qp */
  uint64_t address;     /* of memory that the peer may use, or zero... */
  uint64_t length;      /* ...with its bytes... */
  uint32_t stag;        /* ...and its STag */
  uint32_t private_len; /* bytes of private_data that count, at most VL_CONN_PRIVATE_MAX */
  uint8_t private_data[VL_CONN_PRIVATE_MAX]; /* the program's own */
};

/*
 * A listening TCP socket. address: "HOST:PORT", "[IPV6]:PORT" or ":PORT" for all addresses of this
 * host; port 0: any (getsockname tells which). Or a path, which has a slash in it, of a serial
 * line: it is opened. Also errno of socket, bind and listen, or of open; ENOTTY: the path is no
 * terminal.
 */
VL_API int vl_conn_listen(const char* address);

/* The next peer. Of a serial line at once: another file descriptor of it. */
VL_API int vl_conn_accept(int listener, int timeout_ms);

/*
 * Connects to a peer, which may not be listening yet: it is tried until the time is over. A serial
 * line is opened, at once.
 */
VL_API int vl_conn_connect(const char* address, int timeout_ms);

/* min_rnr_timer of vl_connect_qp: 640 us. */
#define VL_CONN_RNR_TIMER 12

/*
 * Both ends call it at the same time. Tells the peer *mine and gets *theirs, takes the queue pair
 * to VL_QPS_RTS with the peer's as its peer, and returns when the peer's is there, too: either may
 * send at once. A message that finds no receive is sent again for ever (see vl_qp_attr): whoever
 * wants another limit goes through the states with vl_modify_qp. The queue pair is in VL_QPS_RESET,
 * or already in VL_QPS_INIT, with receives posted. Both queue pairs are of one service,
 * VL_SERVICE_RC or VL_SERVICE_UC: EPROTO if the peer's is another, EINVAL if it is VL_SERVICE_UD,
 * which has no peer. After an error it is in any state: reset it. Also errno of vl_modify_qp.
 */
VL_API int vl_connect_qp(struct vl_qp* qp, int fd, const struct vl_conn_info* mine,
                         struct vl_conn_info* theirs, int timeout_ms);

/*
 * Both ends call it: returns when the other one is there, too. So an end knows that its peer has
 * all that it wanted, and may go. Of symbol version VERBS_LITE_0_2.
 */
VL_API int vl_conn_meet(int fd, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_CONNECT_H */
