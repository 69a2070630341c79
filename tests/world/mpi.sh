#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What mpirun needs to start ranks on another guest: ssh, by a key that is made here and is good for this run.
#
#   mpi.sh key               makes it, and serves its public half until the other guest has it
#   mpi.sh sshd PEER         takes that of PEER, and starts a server that lets its owner in
#   mpi.sh run TRANSPORTS PROGRAM...
#                            four ranks, two in each guest, by UCX and these transports of it
#   mpi.sh pair TRANSPORTS PROGRAM...
#                            two ranks, one in each
set -eu

port=7022
folder=$HOME/.ssh

key() {
	(umask 077 && mkdir -p "$folder")
	ssh-keygen -q -t ed25519 -N "" -f "$folder/id_ed25519"
	cat >"$folder/config" <<-END
		StrictHostKeyChecking accept-new
		LogLevel ERROR
	END
	python3 - $port "$folder/id_ed25519.pub" <<-END
		import socket, sys
		with socket.create_server(("", int(sys.argv[1]))) as server, open(sys.argv[2], "rb") as file:
		    connection = server.accept()[0]
		    connection.sendall(file.read())
		    connection.close()
	END
}

sshd() {
	(umask 077 && mkdir -p "$folder")
	python3 - "$1" $port >"$folder/authorized_keys" <<-END
		import socket, sys
		with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
		    sys.stdout.write(connection.makefile().read())
	END
	ssh-keygen -q -A
	mkdir -p /run/sshd
	/usr/sbin/sshd
}

# ranks HOSTS TRANSPORTS PROGRAM...: those of a guest share its processor: one that waits lets others run.
ranks() {
	hosts=$1
	transports=$2
	shift 2
	mpirun -H "$hosts" --bind-to none --mca pml ucx --mca mpi_yield_when_idle 1 -x "UCX_TLS=$transports,sm,self" \
		-x UCX_NET_DEVICES=exrnic_0:1 "$@"
}

run() { ranks node0:2,node1:2 "$@"; }
pair() { ranks node0:1,node1:1 "$@"; }

"$@"
