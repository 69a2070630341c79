#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# NVMe over RDMA between two guests, by the kernel's own target and host.
#
#   nvme_over_rdma.sh target NODE    serves a file in memory, at the address of that node
#   nvme_over_rdma.sh host PEER      writes and checks the disk that PEER serves
#   nvme_over_rdma.sh end            serves no more
set -eu

name=exrnic
config=/sys/kernel/config/nvmet
file=/dev/shm/$name

address() {
	getent hosts "$1" | cut -d" " -f1
}

target() {
	modprobe -a configfs nvmet nvmet-rdma
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	truncate -s 16M $file
	mkdir $config/subsystems/$name
	echo 1 >$config/subsystems/$name/attr_allow_any_host
	mkdir $config/subsystems/$name/namespaces/1
	echo $file >$config/subsystems/$name/namespaces/1/device_path
	echo 1 >$config/subsystems/$name/namespaces/1/buffered_io # in memory there is no other
	echo 1 >$config/subsystems/$name/namespaces/1/enable
	mkdir $config/ports/1
	echo rdma >$config/ports/1/addr_trtype
	echo ipv4 >$config/ports/1/addr_adrfam
	address "node$1" >$config/ports/1/addr_traddr
	echo 4420 >$config/ports/1/addr_trsvcid
	ln -s $config/subsystems/$name $config/ports/1/subsystems/$name
}

# disk: of the subsystem that was connected.
disk() {
	for subsystem in /sys/class/nvme-subsystem/*; do
		[ "$(cat "$subsystem/subsysnqn")" != $name ] || basename "$subsystem"/nvme*n1
	done
}

host() {
	modprobe nvme-rdma
	nvme connect -t rdma -a "$(address "$1")" -s 4420 -n $name --nr-io-queues 2
	fio --name=job --filename="/dev/$(disk)" --direct=1 --ioengine=libaio --iodepth=8 --rw=randrw --bs=4k --size=4M \
		--verify=crc32c --verify_fatal=1
	fio --name=long --filename="/dev/$(disk)" --direct=1 --ioengine=libaio --iodepth=4 --rw=write --bs=256k --size=8M \
		--verify=crc32c --verify_fatal=1
	nvme disconnect -n $name
}

end() {
	rm $config/ports/1/subsystems/$name
	rmdir $config/ports/1
	rmdir $config/subsystems/$name/namespaces/1
	rmdir $config/subsystems/$name
	rm $file
	modprobe -r nvmet-rdma nvmet
}

"$@"
