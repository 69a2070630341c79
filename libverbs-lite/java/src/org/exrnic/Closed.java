// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic;

import java.nio.channels.ClosedChannelException;

/** A ClosedChannelException, which has no sentence of its own. */
final class Closed extends ClosedChannelException {
  private static final long serialVersionUID = 1;
  private final String sentence;

  Closed(String sentence) {
    this.sentence = sentence;
  }

  @Override
  public String getMessage() {
    return sentence;
  }
}
