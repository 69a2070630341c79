/* SPDX-License-Identifier: BSD-2-Clause */
/* As programs of JIAJIA are written: its header, its calls, nodes told by the environment. */
#include <jia.h>
#include <stdio.h>
#include <stdlib.h>

#define N 64
#define BINS 8

static double (*a)[N], (*b)[N];
static int* bins;

static void fill(void) {
  int i, j;
  for (i = jiapid * N / jiahosts; i < (jiapid + 1) * N / jiahosts; i++)
    for (j = 0; j < N; j++) a[i][j] = i * N + j;
}

static void transpose(void) {
  int i, j;
  for (i = jiapid * N / jiahosts; i < (jiapid + 1) * N / jiahosts; i++)
    for (j = 0; j < N; j++) b[i][j] = a[j][i];
}

static void count(void) {
  int i, j, mine[BINS] = {0};
  for (i = jiapid; i < N; i += jiahosts)
    for (j = 0; j < N; j++) mine[(int)b[i][j] % BINS]++;
  for (i = 0; i < BINS; i++) {
    jia_lock(i);
    bins[i] += mine[i];
    jia_unlock(i);
  }
}

int main(int argc, char** argv) {
  int i, j;
  float begin;

  jia_init(argc, argv);
  jia_config(HMIG, OFF);
  a = (double(*)[N])jia_alloc3(N * N * sizeof(double), N * N * sizeof(double) / jiahosts, 0);
  b = (double(*)[N])jia_alloc(N * N * sizeof(double));
  bins = (int*)jia_alloc1(BINS * sizeof(int));
  jia_barrier();
  begin = jia_clock();
  fill();
  jia_barrier();
  transpose();
  jia_barrier();
  count();
  if (jiapid == 0) jia_setcv(0);
  jia_waitcv(0);
  jia_barrier();
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++)
      if (b[i][j] != j * N + i) jia_error("%d,%d is %f", i, j, b[i][j]);
  for (i = 0; i < BINS; i++)
    if (bins[i] != N * N / BINS) jia_error("bin %d has %d", i, bins[i]);
  if (jia_clock() < begin) jia_error("the clock goes backwards");
  jia_wait();
  if (jiapid == 0) printf("%d hosts\n", jiahosts);
  jia_exit();
  return 0;
}
