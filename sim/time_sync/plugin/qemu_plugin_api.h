/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What we use of QEMU's plugin interface, declared from its documentation (docs/devel/tcg-plugins),
 * so that no QEMU source is needed to build. Versions: 5 (QEMU 10.1) to 7 (QEMU 11.1). They differ
 * for us in one thing: since 7 a callback gets the pointer that was given when it was registered,
 * before it got the plugin's identifier.
 */
#ifndef EXRNIC_QEMU_PLUGIN_API_H
#define EXRNIC_QEMU_PLUGIN_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

enum { QEMU_PLUGIN_OLDEST = 5, QEMU_PLUGIN_USERDATA = 7, QEMU_PLUGIN_NEWEST = 7 };

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;
struct qemu_plugin_scoreboard;
struct qemu_plugin_register;

typedef struct {
  const char* target_name;
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {
    int smp_vcpus;
    int max_vcpus;
  } system;
} qemu_info_t;

typedef struct {
  struct qemu_plugin_scoreboard* score;
  size_t offset;
} qemu_plugin_u64;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_RW_REGS = 2 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cond { QEMU_PLUGIN_COND_GE = 7 };

typedef void (*qemu_plugin_vcpu_cb)(unsigned vcpu, void* userdata);
typedef void (*qemu_plugin_mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
                                   void* userdata);

/* The callback's type depends on the version: (plugin, block), or (block, userdata). */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t plugin, void* callback, void* userdata);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* tb);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn* insn, void* out, size_t length);
void* qemu_plugin_insn_haddr(const struct qemu_plugin_insn* insn);

void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb* tb,
                                               qemu_plugin_vcpu_cb callback,
                                               enum qemu_plugin_cb_flags flags,
                                               enum qemu_plugin_cond cond, qemu_plugin_u64 entry,
                                               uint64_t immediate, void* userdata);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb* tb,
                                                       enum qemu_plugin_op op,
                                                       qemu_plugin_u64 entry, uint64_t immediate);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* insn,
                                            qemu_plugin_vcpu_cb callback,
                                            enum qemu_plugin_cb_flags flags, void* userdata);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* insn, qemu_plugin_mem_cb callback,
                                      enum qemu_plugin_cb_flags flags, enum qemu_plugin_mem_rw rw,
                                      void* userdata);

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr* address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr* address);
const char* qemu_plugin_hwaddr_device_name(const struct qemu_plugin_hwaddr* address);

/* GLib's, as its documentation shows them; QEMU has loaded it. */
typedef struct {
  uint8_t* data;
  unsigned len;
} GByteArray;
typedef struct {
  char* data;
  unsigned len;
} GArray;
GByteArray* g_byte_array_new(void);
GByteArray* g_byte_array_set_size(GByteArray* array, unsigned length);
unsigned g_array_get_element_size(GArray* array);
char* g_array_free(GArray* array, int free_segment);

/* The first members. */
typedef struct {
  struct qemu_plugin_register* handle;
  const char* name;
} qemu_plugin_reg_descriptor;

/* The returned values of these, which depend on the version, are not used. */
GArray* qemu_plugin_get_registers(void);
void qemu_plugin_read_register(struct qemu_plugin_register* from, GByteArray* to);
void qemu_plugin_write_register(struct qemu_plugin_register* to, GByteArray* from);
void qemu_plugin_read_memory_hwaddr(uint64_t address, GByteArray* to, size_t length);
void qemu_plugin_write_memory_hwaddr(uint64_t address, GByteArray* from);

struct qemu_plugin_scoreboard* qemu_plugin_scoreboard_new(size_t element_size);
void qemu_plugin_u64_add(qemu_plugin_u64 entry, unsigned vcpu, uint64_t added);
uint64_t qemu_plugin_u64_get(qemu_plugin_u64 entry, unsigned vcpu);
void qemu_plugin_u64_set(qemu_plugin_u64 entry, unsigned vcpu, uint64_t value);

#endif
