// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memory of segments: mapped until nobody has the buffer, or one that was made of it, any more. The
 * VM does not know how much that is, so it is asked to look for such when there is twice as much as
 * was found in use the last time.
 */
final class Memory {
  private static final long FLOOR = 256L << 20;
  private static final int PAUSES = 20;
  private static final int PAUSE = 5;

  private static final AtomicLong MAPPED = new AtomicLong();
  private static long limit = FLOOR;

  private Memory() {}

  static ByteBuffer map(int bytes) {
    makeRoom(bytes);
    long place = Native.map(bytes);
    ByteBuffer buffer = Native.wrap(place, bytes);
    MAPPED.addAndGet(bytes);
    Resources.whenUnreachable(buffer, () -> {
      Native.unmap(place, bytes);
      MAPPED.addAndGet(-bytes);
    });
    return buffer;
  }

  private static synchronized void makeRoom(int bytes) {
    if (MAPPED.get() + bytes <= limit) {
      return;
    }
    System.gc();
    // It is unmapped by another thread, soon.
    for (int i = 0; i < PAUSES && MAPPED.get() + bytes > FLOOR; ++i) {
      try {
        Thread.sleep(PAUSE);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        break;
      }
    }
    limit = Math.max(FLOOR, 2 * (MAPPED.get() + bytes));
  }
}
