/* SPDX-License-Identifier: BSD-2-Clause */
/* What the compiler calls by itself, though there is no libc. */
#include <stddef.h>
#include <stdint.h>

void* memset(void* to, int value, size_t bytes);
void* memcpy(void* to, const void* from, size_t bytes);

void* memset(void* to, int value, size_t bytes) {
  uint8_t* at = to;
  const uint32_t word = (uint8_t)value * 0x01010101u;

  for (; bytes >= 4 && (uintptr_t)at % 4 == 0; at += 4, bytes -= 4) *(uint32_t*)(void*)at = word;
  while (bytes-- != 0) *at++ = (uint8_t)value;
  return to;
}

void* memcpy(void* to, const void* from, size_t bytes) {
  uint8_t* at = to;
  const uint8_t* source = from;

  for (; bytes >= 4 && ((uintptr_t)at | (uintptr_t)source) % 4 == 0;
       at += 4, source += 4, bytes -= 4)
    *(uint32_t*)(void*)at = *(const uint32_t*)(const void*)source;
  while (bytes-- != 0) *at++ = *source++;
  return to;
}
