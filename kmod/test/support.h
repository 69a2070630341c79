/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests of exrnic.ko share: checks, objects with good parameters, system state. */
#ifndef EXRNIC_KMOD_TEST_SUPPORT_H
#define EXRNIC_KMOD_TEST_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exrnic.h"
#include "exrnic_hw.h"

#define PAGE ((size_t)4096)

/* A test runs in a process of its own. It fails if a check fails, or memory stays pinned. */
struct test {
	const char *name;	/* a sentence: what must hold */
	void (*run)(void);
	unsigned int seconds;	/* limit, beyond the time of random tests; 0 is 60 */
};

/* removal_test.c: has objects until the device tells that it is gone; the exit status. */
int wait_for_the_end(void);

extern const struct test object_tests[];
extern const struct test srq_tests[];
extern const struct test resize_tests[];
extern const struct test channel_tests[];
extern const struct test event_tests[];
extern const struct test sweep_tests[];
extern const struct test error_tests[];
extern const struct test memory_tests[];
extern const struct test region_tests[];
extern const struct test rereg_tests[];
extern const struct test stag_tests[];
extern const struct test memory_window_tests[];
extern const struct test limit_tests[];
extern const struct test quota_tests[];
extern const struct test sysfs_tests[];
extern const struct test firmware_tests[];
extern const struct test msg_channel_tests[];
extern const struct test lookup_tests[];
extern const struct test management_tests[];
extern const struct test neighbour_tests[];
extern const struct test mmap_tests[];
extern const struct test fault_tests[];
extern const struct test life_tests[];
extern const struct test removal_tests[];
extern const struct test reset_tests[];
/* Of guests whose firmware wakes them: run by name only. */
extern const struct test suspension_tests[];
extern const struct test waiting_tests[];
extern const struct test window_tests[];
extern const struct test port_tests[];
extern const struct test kernel_user_tests[];
extern const struct test verbs_tests[];
extern const struct test eth_tests[];
extern const struct test death_tests[];
extern const struct test fuzz_ioctl_tests[];
extern const struct test fuzz_uverbs_tests[];
extern const struct test fuzz_rings_tests[];
extern const struct test fuzz_registers_tests[];

/* Both report and go on; a test can fail more than once. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(got, want) check_eq((long long)(got), (long long)(want), #got, __FILE__, __LINE__)
/* call returns 0, or -1 with that errno; want 0 is success. */
#define CHECK_ERR(call, want) check_err((call), (want), #call, __FILE__, __LINE__)

bool check(bool condition, const char *text, const char *file, int line);
bool check_eq(long long got, long long want, const char *text, const char *file, int line);
bool check_err(int result, int want, const char *text, const char *file, int line);
bool has_failed(void);
/* Ends the test, which this kernel cannot run: it counts as passed. */
void skip(const char *why) __attribute__((noreturn));
enum { SKIPPED = 77 };
/* Ends the test: without this it cannot go on. */
void give_up(const char *what) __attribute__((noreturn));

const char *device_path(void);
void set_device_path(const char *path);
/* The context of the device; gives up if it cannot be opened. */
int open_device(void);

/* Anonymous pages, writable, zeroed, not yet touched. */
void *pages(size_t count);

/* ioctl by name of the command's structure; out fields are filled in. */
int query(int fd, struct exrnic_query *q);
uint32_t other_node(int fd);	/* a node identifier that is not the device's own */
int alloc_pd(int fd, uint32_t *pd);
int create_cq(int fd, void *ring, uint32_t entries, uint32_t *cqn);
int create_srq(int fd, uint32_t pd, void *ring, uint32_t slots, uint32_t *srqn);
int modify_srq(int fd, uint32_t srqn, uint32_t limit);
int reg_mr(int fd, uint32_t pd, const void *address, uint64_t length, uint32_t access,
	   uint32_t *stag);
int alloc_mw(int fd, uint32_t pd, uint32_t *stag);
/* Ends an object of any kind. */
int object_ioctl(int fd, unsigned long command, uint32_t handle);
int modify_qp(int fd, uint32_t qpn, uint32_t state, uint32_t dest_node, uint32_t dest_qpn);
int query_qp_state(int fd, uint32_t qpn, uint32_t *state);
int get_pbl(int fd, uint32_t stag, uint64_t *buffer, uint32_t room, struct exrnic_get_pbl *out);

/* One of each; fields may be changed before create_qp_of(). */
struct set {
	int fd;
	uint32_t pd;
	uint32_t cqn;
	uint32_t qpn;
	uint32_t stag;
	void *ring;
	void *sq;
	void *rq;
	void *buffer;		/* buffer_pages of them, registered with all rights */
	struct exrnic_create_qp qp;
};
enum { BUFFER_PAGES = 4, SLOTS = 64, CQ_ENTRIES = 128, SOME_READS = 16 };

/* PD, CQ, MR and QP in state RESET on a file of its own; gives up on failure. */
struct set make_set(void);
/* The same with the queue pair in RTS, to one of the other node that need not be there. */
struct set make_connected_set(void);
/* The parameters of make_set's queue pair. */
struct exrnic_create_qp good_qp(const struct set *s);
/* The same with a shared receive queue in the place of its own. */
struct exrnic_create_qp srq_qp(const struct set *s, uint32_t srqn);
int create_qp_of(struct set *s);
void destroy_set(struct set *s);

/* Pages pinned in this system for FOLL_PIN users now. */
long long pinned_pages(void);

/* The folder of the device in sysfs, such as /sys/class/exrnic/exrnic0, and a file in it. */
void sysfs_path(char *path, size_t size, const char *file);
/* The name of the PCI function under the device file, such as 0000:00:01.0. */
void pci_name(char *name, size_t size);
/* Of the part that the char device stands on, of the only RNIC that there is; and its driver. */
#define AUXILIARY "/sys/bus/auxiliary/drivers/exrnic_cdev.cdev"
void auxiliary_name(char *name, size_t size);

/* Both give up if it cannot be done. read_file leaves out the newline at the end. */
void write_file(const char *path, const char *text);
void read_file(const char *path, char *text, size_t size);

/* /dev/kmsg, behind what has been logged so far; and whether that has come since. */
int open_log(void);
bool log_has(int log, const char *text);

/* The Ethernet driver, by eth_test.c, and the name of its interface; skips the test where there is none. */
void load_ethernet(char *name);
void unload_ethernet(void);
int set_interface_up(const char *name, bool up);

/* Firmware of the on-chip processor, by sysfs: firmware_test.c. */
#define GOOD_FIRMWARE "exrnic/firmware.bin"
#define FAULTY_FIRMWARE "exrnic/faulty.bin"	/* asserts when it is queried */

void skip_without_processor(void);
/* Both: 0, or an errno. */
int load_firmware(const char *name);
int read_firmware_info(void);
/* Fails the test if it does not get there. */
void wait_for_firmware(const char *state);

/*
 * What the page table of this process says of a page, as Linux numbers it: bits PWT, PCD and PAT of an entry.
 * x86 only: page_table.c.
 */
enum memory_type {
	MEMORY_WRITE_BACK,
	MEMORY_WRITE_COMBINING,
	MEMORY_UNCACHED_MINUS,
	MEMORY_UNCACHED,
};

/* Of a page that has been touched. Skips the test where the kernel does not let root look. */
enum memory_type memory_type_of(const volatile void *address);

/* A file of a module, and one that is loaded by name, unless it is in use: 0, or -1 with errno. */
int load_module(const char *path, const char *parameters);
int unload_module(const char *name);

bool has_iommu(void);

/* Gives up root: no capabilities, RLIMIT_MEMLOCK of this many pages. */
void become_nobody(size_t memlock_pages);

#endif
