/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A first program: a queue pair that is connected to itself writes one buffer into another. The
 * bytes go through the RNIC. VL_DEVICE says which: exrnic0 in a guest, sim:PATH without one.
 */
#include <exrnic/verbs.h>
#include <stdint.h>
#include <stdio.h>

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, vl_error_text());
  return 1;
}

int main(void) {
  static char from[64] = "written by an RDMA NIC", to[64];
  struct vl_rnic_attr rnic_attr;
  struct vl_wc wc;

  struct vl_rnic* rnic = vl_open_rnic(NULL);
  if (rnic == NULL || vl_query_rnic(rnic, &rnic_attr) != 0) return fail("vl_open_rnic");
  struct vl_pd* pd = vl_allocate_pd(rnic);
  struct vl_cq* cq = vl_create_cq(rnic, 16, NULL);
  struct vl_mr* source = vl_allocate_mr(pd, from, sizeof from, 0);
  struct vl_mr* target =
      vl_allocate_mr(pd, to, sizeof to, VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE);
  struct vl_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1};
  struct vl_qp* qp = vl_create_qp(pd, &init);
  if (source == NULL || target == NULL || qp == NULL) return fail("cannot make all objects");

  struct vl_qp_attr attr = {
      .state = VL_QPS_INIT, .dest_node = rnic_attr.node_id, .dest_qpn = vl_qp_number(qp)};
  for (; attr.state <= VL_QPS_RTS; attr.state++)
    if (vl_modify_qp(qp, &attr) != 0) return fail(vl_qp_state_string(attr.state));

  struct vl_sge sge = {(uintptr_t)from, sizeof from, vl_mr_stag(source)};
  struct vl_send_wr wr = {.sg_list = &sge,
                          .num_sge = 1,
                          .opcode = VL_OP_PUSH,
                          .flags = VL_SEND_SIGNALED,
                          .remote_stag = vl_mr_stag(target),
                          .remote_address = (uintptr_t)to};
  if (vl_post_sq(qp, &wr, NULL) != 0) return fail("vl_post_sq");
  while (vl_poll_cq(cq, 1, &wc) == 0) continue;
  printf("node %u: %s\n", rnic_attr.node_id,
         wc.status == VL_WC_SUCCESS ? to : vl_status_string(wc.status));

  vl_destroy_qp(qp);
  vl_deallocate_mr(target);
  vl_deallocate_mr(source);
  vl_destroy_cq(cq);
  vl_deallocate_pd(pd);
  return vl_close_rnic(rnic) != 0 || wc.status != VL_WC_SUCCESS;
}
