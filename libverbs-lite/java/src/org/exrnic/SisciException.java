// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.io.IOException;

/** What the RNIC, or the other node, did not do, and why. */
public final class SisciException extends IOException {
  /** Nobody has answered in time. */
  public static final int TIMEOUT = 0x4000090A;

  /** The other end has ended. */
  public static final int NOT_CONNECTED = 0x4000091B;

  /** It was removed while somebody waited for it. */
  public static final int CANCELLED = 0x4000091A;

  private static final int NOSPC = 0x40000904;
  private static final int API_NOSPC = 0x40000905;
  private static final int HW_NOSPC = 0x40000906;
  private static final int NO_SUCH = 0x4000090C;
  private static final int SYSTEM = 0x40000919;
  private static final int NO_LINK_ACCESS = 0x40000A05;

  private static final long serialVersionUID = 1;

  private final int code;

  SisciException(int code, String sentence) {
    super(sentence);
    this.code = code;
  }

  /** True: it is this node that has not what is needed, whatever another one does. */
  boolean isOfThisNode() {
    return switch (code) {
      case NOSPC, API_NOSPC, HW_NOSPC, SYSTEM, NO_LINK_ACCESS -> true;
      default -> false;
    };
  }

  /** True: nobody has a segment, or an interrupt, with that number. */
  boolean isOfNothing() {
    return code == NO_SUCH;
  }

  /** The error's number in SISCI (sisci_error.h). */
  public int code() {
    return code;
  }
}
