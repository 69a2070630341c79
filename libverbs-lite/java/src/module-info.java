// SPDX-License-Identifier: BSD-2-Clause
/** RDMA between nodes, for Java. */
module org.exrnic {
  exports org.exrnic;
}
