// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.test;

/**
 * What holds in one VM with two nodes, its adapters 0 and 1. Arguments: only sentences with all of
 * them. The status says whether all hold.
 */
public final class AllChecks {
  private AllChecks() {}

  /** Runs them. */
  public static void main(String[] only) {
    Checks checks = new Checks(only);
    ConnectionChecks.run(checks);
    OfferChecks.run(checks);
    ChannelChecks.run(checks);
    InterruptChecks.run(checks);
    SegmentChecks.run(checks);
    System.exit(checks.failures() == 0 ? 0 : 1);
  }
}
