// SPDX-License-Identifier: BSD-2-Clause
/*
 * libverbs-lite: the RNIC as a non-transparent bridge. A remote window is memory of this process
 * through which stores and loads reach a peer's memory. A port is a set of doorbell bits and
 * scratchpads shared with one port of another node.
 *
 * Errors, threads, fork: as in exrnic/verbs.h; a window is not inherited. EOPNOTSUPP: in the
 * simulator without guests ("sim:PATH") there are no windows, because a load or store of a process
 * cannot reach the simulator. Ports are there.
 */
#ifndef EXRNIC_NTB_H
#define EXRNIC_NTB_H

#include <stddef.h>
#include <stdint.h>

#include "exrnic/verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VL_WINDOW_STORE 0x1 /* the peer's region has VL_ACCESS_REMOTE_WRITE */
#define VL_WINDOW_LOAD 0x2  /* the peer's region has VL_ACCESS_REMOTE_READ */

#define VL_PORTS 16           /* of a node */
#define VL_PORT_SPADS 16      /* scratchpads of a port */
#define VL_PORT_LINK_UP 0x1   /* the peer has opened its port */
#define VL_PORT_LINK_DOWN 0x2 /* it has closed it, or is gone */

struct vl_window;
struct vl_port;

/* ---- Remote windows -------------------------------------------------------------------------- */

/*
 * Maps [remote_address, remote_address + length) of the peer's region remote_stag. The queue pair
 * names the peer, and its send queue belongs to its windows: it is in VL_QPS_RTS, nothing was
 * posted there since it left VL_QPS_RESET (EBUSY), and while it has windows vl_post_sq refuses
 * (EBUSY); it cannot be destroyed before they are unmapped (EBUSY). The peer's max_reads_in is at
 * least 1 for loads. access: VL_WINDOW_*. length: at most vl_rnic_attr.max_window, which all
 * windows share in parts of a 64th. EINVAL: also when the queue pair is not in VL_QPS_RTS, or its
 * peer is on this node. ENOSPC: the RNIC has no more windows. vl_error_text() says more.
 */
VL_API struct vl_window* vl_map_window(struct vl_qp* qp, uint32_t remote_stag,
                                       uint64_t remote_address, uint64_t length, int access);

/* EIO and ETIMEDOUT: it is unmapped nevertheless. */
VL_API int vl_unmap_window(struct vl_window* window);

/*
 * Its first byte; remote_address is there. Access it with naturally aligned loads and stores of 1,
 * 2, 4 or 8 bytes.
 *
 * Stores are gathered by the processor and by the RNIC, and arrive in the order in which they left
 * the processor; vl_window_flush makes them leave. A load waits for the peer, behind the stores of
 * this processor. What is not allowed does nothing, or reads as all ones; so does a load that the
 * peer does not answer in time. When the peer refuses an access (its region has gone, say) or is
 * gone itself, the queue pair goes to VL_QPS_ERROR, with an asynchronous event, and its windows
 * take nothing any more: all of them, so a window that is to end alone has a queue pair of its own.
 * Once this RNIC is gone, an access gets SIGBUS.
 */
VL_API volatile void* vl_window_address(const struct vl_window* window);

/* Stores of this thread before it leave the processor before those behind it. */
VL_API void vl_window_flush(void);

/* ---- Ports ----------------------------------------------------------------------------------- */

struct vl_port_event {
  uint32_t bells;  /* rung since the last call, and not masked */
  uint32_t events; /* VL_PORT_LINK_* since then */
  int link_up;     /* 1: the peer's port is open now */
};

/*
 * Opens port `port` (0 to VL_PORTS - 1), whose peer is port `peer_port` of node `peer_node`; that
 * one names this one likewise. Who uses which is for the two to agree on. EBUSY: it is open
 * already, or the kernel keeps it. EPERM: it is for who has CAP_NET_RAW, as the administrator says.
 */
VL_API struct vl_port* vl_open_port(struct vl_rnic* rnic, unsigned port, unsigned peer_node,
                                    unsigned peer_port);
VL_API int vl_close_port(struct vl_port* port);

/* For poll and epoll: readable while an event waits. */
VL_API int vl_port_fd(const struct vl_port* port);

/* The next event; waits for it, unless the descriptor has O_NONBLOCK: EAGAIN. */
VL_API int vl_get_port_event(struct vl_port* port, struct vl_port_event* event);

/* Rings bits at the peer, behind the window stores that have left. ENOTCONN: its port is closed. */
VL_API int vl_ring_port(struct vl_port* port, uint32_t bits);

/* Bits that are not told until they are unmasked. */
VL_API int vl_mask_port(struct vl_port* port, uint32_t bits);

/*
 * Each port has scratchpads; both sides set and get those of both. vl_set_scratchpad sets one of
 * the peer's, which gets it by vl_get_scratchpad. vl_set_own_scratchpad sets one of this port's,
 * which the peer gets by vl_get_peer_scratchpad. All are 0 when the link has come up. What was set
 * is got at once on this side. When both sides set the same one at about the same time, one of the
 * values counts, and when they have stopped both get that. ENOTCONN (set): the peer's port is
 * closed, and the value is lost.
 */
VL_API int vl_set_scratchpad(struct vl_port* port, unsigned index, uint32_t value);
VL_API int vl_get_scratchpad(struct vl_port* port, unsigned index, uint32_t* value);
VL_API int vl_set_own_scratchpad(struct vl_port* port, unsigned index, uint32_t value);
VL_API int vl_get_peer_scratchpad(struct vl_port* port, unsigned index, uint32_t* value);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_NTB_H */
