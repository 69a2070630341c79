/* SPDX-License-Identifier: BSD-2-Clause */
/* The public header is C: compiled here as such, and each call is linked. */
#include "exrnic/verbs.h"

typedef void (*any_call)(void);

const any_call exrnic_every_call[] = {
    (any_call)vl_open_rnic,     (any_call)vl_close_rnic,    (any_call)vl_query_rnic,
    (any_call)vl_allocate_pd,   (any_call)vl_deallocate_pd, (any_call)vl_create_cq,
    (any_call)vl_destroy_cq,    (any_call)vl_create_srq,    (any_call)vl_modify_srq,
    (any_call)vl_query_srq,     (any_call)vl_destroy_srq,   (any_call)vl_create_qp,
    (any_call)vl_modify_qp,     (any_call)vl_query_qp,      (any_call)vl_destroy_qp,
    (any_call)vl_qp_number,     (any_call)vl_allocate_mr,   (any_call)vl_deallocate_mr,
    (any_call)vl_mr_stag,       (any_call)vl_get_pbl,       (any_call)vl_post_sq,
    (any_call)vl_post_rq,       (any_call)vl_post_srq_recv, (any_call)vl_poll_cq,
    (any_call)vl_req_notify_cq, (any_call)vl_status_string,
};
