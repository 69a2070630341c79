#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# UCX's own measurement: between two guests, or, where Debian has built it for MPI (since 13), between two ranks
# that MPI starts on node 0.
#
#   ucx.sh TRANSPORT [PEER]    node 0 without PEER
set -eu

export UCX_TLS="$1" UCX_NET_DEVICES=exrnic_0:1
set -- -t tag_lat -n 100 -w 10 ${2:+"$2"}
if ! ldd "$(command -v ucx_perftest)" | grep -q libmpi; then
	exec ucx_perftest "$@"
fi
[ $# -eq 6 ] || exit 0
exec mpirun -n 2 --oversubscribe --mca pml ob1 ucx_perftest "$@"
