// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.util.concurrent.atomic.AtomicBoolean;

/** What one thread does at a time; a second one is told so. */
final class Turn {
  private final AtomicBoolean taken = new AtomicBoolean();
  private final String what;

  Turn(String what) {
    this.what = what;
  }

  /** False: another thread has it. */
  boolean tryTake() {
    return taken.compareAndSet(false, true);
  }

  void take() {
    if (!tryTake()) {
      throw new IllegalStateException("another thread " + what + " this connection now");
    }
  }

  void give() {
    taken.set(false);
  }
}
