// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.concurrent.TimeUnit;

/** Waits in slices: in between a thread sees that it was interrupted, or that its peer is gone. */
final class Waiting {
  /** As a time limit: none. */
  static final int FOREVER = -1;

  /** Milliseconds that a native call waits at most. */
  private static final int SLICE = 200;

  /** One that connects: the other node has to do something meanwhile. */
  private static final int CONNECT_SLICE = 1000;

  /** Between two tries of what there is not yet. */
  private static final int PAUSE = 10;

  /** Waits for so many milliseconds; true: it has come. */
  interface Try {
    boolean run(int milliseconds) throws IOException;
  }

  /** What else ends it: an exception. */
  interface Condition {
    void check() throws IOException;
  }

  private final String what;
  private final int timeout;
  private final Condition condition;
  private final long begin = System.nanoTime();

  /** What cannot be had says "nobody has connected in 5 ms", with this in front of "in". */
  Waiting(String what, int timeout) {
    this(what, timeout, () -> {});
  }

  /** Likewise; the condition is checked in each slice. */
  Waiting(String what, int timeout, Condition condition) {
    if (timeout < FOREVER) {
      throw new IllegalArgumentException("a time limit of " + timeout + " ms; none is -1");
    }
    this.what = what;
    this.timeout = timeout;
    this.condition = condition;
  }

  /** For one of several attempts: no longer than so many milliseconds, nor than this one. */
  Waiting attempt(int milliseconds) {
    return new Waiting(what, Math.min(milliseconds, left()), condition);
  }

  /** The same anew. */
  Waiting again() {
    return new Waiting(what, timeout, condition);
  }

  /** True: all of its time has passed. */
  boolean isOver() {
    return left() == 0;
  }

  /** What cannot be had in all of the time. */
  SisciException over() {
    return new SisciException(SisciException.TIMEOUT, what + " in " + timeout + " ms");
  }

  /** Until it has come. */
  void until(Try wait) throws IOException {
    while (!once(wait, SLICE)) {
      // The next slice.
    }
  }

  /** The same for what may not be there yet, and then is not waited for by itself. */
  void connect(Try connect) throws IOException {
    paced(milliseconds -> {
      try {
        return connect.run(milliseconds);
      } catch (SisciException problem) {
        if (!problem.isOfNothing()) {
          throw problem;
        }
        return false;
      }
    });
  }

  /** The same for what is there: that there is no such thing is final. */
  void paced(Try attempt) throws IOException {
    Try paced = milliseconds -> {
      if (attempt.run(milliseconds)) {
        return true;
      }
      pause(Math.min(PAUSE, milliseconds));
      return false;
    };
    while (!once(paced, CONNECT_SLICE)) {
      // The next slice.
    }
  }

  private boolean once(Try wait, int slice) throws IOException {
    checkInterrupted(what);
    condition.check();
    int left = Math.min(slice, left());
    if (wait.run(left)) {
      return true;
    }
    if (left == 0) {
      throw over();
    }
    return false;
  }

  private int left() {
    if (timeout == FOREVER) {
      return Integer.MAX_VALUE;
    }
    long passed = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
    return (int) Math.max(0, timeout - passed);
  }

  private void pause(int milliseconds) throws IOException {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      checkInterrupted(what);
    }
  }

  private static void checkInterrupted(String what) throws InterruptedIOException {
    if (Thread.currentThread().isInterrupted()) {
      throw new InterruptedIOException(what + " until the thread was interrupted");
    }
  }
}
