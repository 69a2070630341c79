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

  private static final long serialVersionUID = 1;

  private final int code;

  SisciException(int code, String sentence) {
    super(sentence);
    this.code = code;
  }

  /** The error's number in SISCI (sisci_error.h). */
  public int code() {
    return code;
  }
}
