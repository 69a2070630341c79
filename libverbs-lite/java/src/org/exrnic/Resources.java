// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What an object has of the RNIC, on a descriptor of its own. All of it ends by close(), or else
 * when the object is unreachable, the newest first. It knows nothing of the object, which else
 * would never be unreachable.
 */
final class Resources {
  /** The end of one of them. */
  interface End {
    void run() throws IOException;
  }

  /** A call that uses them. */
  interface Call<T> {
    T run() throws IOException;
  }

  private static final Cleaner CLEANER = Cleaner.create();

  final long descriptor;
  private final String name;
  private final Deque<End> ends = new ArrayDeque<>();
  private final Cleaner.Cleanable cleanable;
  private volatile boolean closed;
  private int calls;
  private IOException failure;

  /** Of the owner, which the name says. */
  Resources(Object owner, String name) throws IOException {
    this.name = name;
    descriptor = Native.open();
    cleanable = CLEANER.register(owner, this::end);
  }

  static void checkAdapter(int adapter) {
    if (adapter < 0) {
      throw new IllegalArgumentException("adapter " + adapter + "; the first is 0");
    }
  }

  /** Does this when the object, or a buffer and all that were made of it, is unreachable. */
  static void whenUnreachable(Object object, Runnable action) {
    CLEANER.register(object, action);
  }

  /** Something was made, which has this end: at once, if all is closed already. */
  void add(End end) throws IOException {
    synchronized (this) {
      if (!closed) {
        ends.push(end);
        return;
      }
    }
    end.run();
    checkOpen();
  }

  /** It ends before the others; nothing, if it has ended. */
  void endNow(End end) throws IOException {
    synchronized (this) {
      if (!ends.remove(end)) {
        return;
      }
    }
    end.run();
  }

  void checkOpen() throws ClosedChannelException {
    if (closed) {
      throw new Closed(name + " is closed");
    }
  }

  /** Runs it; nothing of the owner ends meanwhile but what wakes who waits. */
  <T> T during(Object owner, Call<T> call) throws IOException {
    synchronized (this) {
      checkOpen();
      ++calls;
    }
    try {
      return call.run();
    } catch (SisciException problem) {
      if (closed) {
        throw new Closed(name + " was closed meanwhile");
      }
      throw problem;
    } finally {
      synchronized (this) {
        --calls;
        notifyAll();
      }
      Reference.reachabilityFence(owner);
    }
  }

  /** Whoever closes it first is told what went wrong. */
  void close() throws IOException {
    cleanable.clean();
    synchronized (this) {
      IOException told = failure;
      failure = null;
      if (told != null) {
        throw told;
      }
    }
  }

  private void end() {
    Deque<End> all;
    synchronized (this) {
      closed = true;
      all = new ArrayDeque<>(ends);
      ends.clear();
    }
    for (End each : all) {
      attempt(each);
    }
    awaitCalls();
    attempt(() -> Native.close(descriptor));
  }

  private void attempt(End end) {
    try {
      end.run();
    } catch (IOException problem) {
      synchronized (this) {
        failure = failure == null ? problem : failure;
      }
    }
  }

  /** They see within a slice of their waiting that all is closed. */
  private synchronized void awaitCalls() {
    boolean interrupted = false;
    while (calls > 0) {
      try {
        wait();
      } catch (InterruptedException again) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
