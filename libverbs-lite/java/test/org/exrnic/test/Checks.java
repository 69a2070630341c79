// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Sentences that hold, or not, and what they are made of. */
final class Checks {
  /** Seconds that something may take. */
  static final int SECONDS = 20;

  static final int LIMIT = SECONDS * 1000;

  private static final ExecutorService THREADS = Executors.newCachedThreadPool();
  private final String[] only;
  private int failures;

  /** Only sentences with all these words. */
  Checks(String[] only) {
    this.only = only;
  }

  /** A sentence holds if this throws nothing. */
  interface Body {
    void run() throws Exception;
  }

  int failures() {
    return failures;
  }

  void check(String sentence, Body body) {
    for (String text : only) {
      if (!sentence.contains(text)) {
        return;
      }
    }
    try {
      body.run();
      System.out.println("ok: " + sentence);
    } catch (Exception | AssertionError problem) {
      System.out.println("FAILED: " + sentence);
      problem.printStackTrace(System.out);
      ++failures;
    }
  }

  static void require(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  static void requireEqual(long expected, long found) {
    require(expected == found, "expected " + expected + ", found " + found);
  }

  /** It throws this, with a sentence. Returns that. */
  static <T extends Exception> T requireThrows(Class<T> expected, Body body) throws Exception {
    try {
      body.run();
    } catch (Exception thrown) {
      if (!expected.isInstance(thrown)) {
        throw thrown;
      }
      String sentence = thrown.getMessage();
      require(sentence != null && sentence.contains(" "), thrown.getClass() + " says " + sentence);
      return expected.cast(thrown);
    }
    throw new AssertionError("no " + expected.getSimpleName());
  }

  static <T> Future<T> start(Callable<T> work) {
    return THREADS.submit(work);
  }

  static <T> T await(Future<T> work) throws Exception {
    try {
      return work.get(SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException problem) {
      if (problem.getCause() instanceof Exception) {
        throw (Exception) problem.getCause();
      }
      throw problem;
    }
  }

  static void pause(int milliseconds) throws IOException {
    try {
      Thread.sleep(milliseconds);
    } catch (InterruptedException interrupted) {
      throw new IOException(interrupted);
    }
  }
}
