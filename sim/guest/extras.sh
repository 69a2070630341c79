# shellcheck shell=dash
# SPDX-License-Identifier: BSD-2-Clause
# What init does in a guest to which a launch has added something: see sim/launch/extras.py. Sourced by
# init from /launch, never run.
#
# /launch/take    paths of the guest, one a line, to be written to the disk "exrnic-take" as a tar archive
# /launch/world   folder: a distribution, on the disk "exrnic-world", in which the command is run
#     mount/      the modules that mounting it takes, in the order of their names
#     put/        files of the launch, which are there before those of the distribution
#
# /launch/network modules of the network beside the RNICs, in the order of their names; the kernel's argument
#                 exrnic.network=ADDRESS/PREFIX has the own address
#
# Lines for the launcher: "@exrnic-absent PATH", where there is nothing to take; "@exrnic-lost" if the
# archive could not be written, behind what tar says of it. Status 98: the distribution cannot be had.

root=/world
world=/launch/world

# disk NAME: prints the block device of the NVMe controller with that serial number, or fails.
disk() {
	local tries=0 controller serial
	while [ $tries -lt 100 ]; do
		for controller in /sys/class/nvme/nvme*; do
			serial=$(cat "$controller/serial" 2>/dev/null)
			# The kernel pads it with blanks.
			[ "${serial%% *}" != "$1" ] || [ ! -b "/dev/${controller##*/}n1" ] || {
				echo "/dev/${controller##*/}n1"
				return 0
			}
		done
		tries=$((tries + 1))
		sleep 0.1
	done
	echo "the guest's kernel finds no NVMe disk \"$1\": its driver has to be built in" >&2
	return 1
}

# load_modules FOLDER: in the order of their names.
load_modules() {
	local module
	for module in "$1"/*.ko; do
		[ ! -e "$module" ] || insmod "$module" || return 1
	done
}

# The interface has no name of its own until it is there; others are no virtio devices.
start_network() {
	local tries=0 interface
	load_modules /launch/network || return 1
	while [ $tries -lt 100 ]; do
		for interface in /sys/bus/virtio/drivers/virtio_net/virtio*/net/*; do
			[ -e "$interface" ] || continue
			ip link set lo up
			ip link set "${interface##*/}" up
			ip addr add "$(argument network)" dev "${interface##*/}"
			return
		done
		tries=$((tries + 1))
		sleep 0.1
	done
	echo "no virtio device is the network of --network" >&2
	return 1
}

# All guests read one image; what this one writes is in its memory.
mount_world() {
	load_modules "$world/mount" || return 1
	mkdir -p $world/put $world/image $world/new $root
	mount -t squashfs -o ro "$(disk exrnic-world)" $world/image &&
		mount -t tmpfs new $world/new &&
		mkdir $world/new/files $world/new/work &&
		mount -t overlay -o lowerdir=$world/put:$world/image,upperdir=$world/new/files,workdir=$world/new/work \
			world $root
}

# Who is who, as far as one byte of the address goes.
name_nodes() {
	local own
	own=$(argument ipv4)
	echo "127.0.0.1 localhost"
	seq 0 255 | sed "s/.*/${own%.*}.& node&/"
}

# What an init of its own would do. Programs of the guest's image are there under their names.
furnish_world() {
	local program
	mkdir -p $root/opt/exrnic
	mount -t proc proc $root/proc
	mount -t sysfs sysfs $root/sys
	mount -t devtmpfs dev $root/dev
	mkdir -p $root/dev/pts $root/dev/shm
	mount -t devpts devpts $root/dev/pts
	mount -t tmpfs shm $root/dev/shm
	mount -o bind /bin $root/opt/exrnic
	for program in /bin/exrnic*; do
		ln -s "/opt/exrnic/${program##*/}" $root/usr/local/bin/
	done
	hostname >$root/etc/hostname
	name_nodes >$root/etc/hosts
	ip link set lo up
	in_world modprobe -a ib_uverbs ib_umad rdma_ucm
	[ ! -d /sys/module/exrnic ] || insmod /lib/exrnic_ib.ko
}

# Open MPI wants to be told that root may.
in_world() {
	chroot $root /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=linux OMPI_ALLOW_RUN_AS_ROOT=1 \
		OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin "$@"
}

# inside APPLET...: of busybox, where the command was run.
inside() { busybox "$@"; }

# take_out: the archive has what is there of the list.
take_out() {
	local path target
	[ -r /launch/take ] || return 0
	set --
	while IFS= read -r path; do
		if inside test -e "$path" || inside test -L "$path"; then
			set -- "$@" "${path#/}"
		else
			printf '\n@exrnic-absent %s\n' "$path"
		fi
	done </launch/take
	[ $# -gt 0 ] || return 0
	target=$(disk exrnic-take) && inside tar -c -C / -f "$target" "$@" && sync || printf '\n@exrnic-lost\n'
}

if [ -d /launch/network ] && ! start_network; then
	echo "the network of --network cannot be had: are its modules of another kernel than $(uname -r)?"
	finish 98
fi

if [ -d $world ]; then
	if ! mount_world || ! furnish_world; then
		echo "the distribution cannot be had: is it of another kernel than $(uname -r)?"
		finish 98
	fi
	run() { in_world sh -c "$1"; }
	inside() { chroot $root /opt/exrnic/busybox "$@"; }
fi
