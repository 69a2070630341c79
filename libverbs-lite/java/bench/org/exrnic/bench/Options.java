// SPDX-License-Identifier: BSD-2-Clause
package org.exrnic.bench;

import java.util.ArrayList;
import java.util.List;

/** What the command line says. */
final class Options {
  static final String USAGE =
      "threads send files to the other end, which is started with the same options\n"
      + "  --listen             this end receives\n"
      + "  --connect WHERE      this end sends: to a node, with --transport tcp to a host\n"
      + "  --transport KIND     pcie or tcp (pcie)\n"
      + "  --adapter N          the RNIC: 0 is what VL_DEVICE names, else exrnic0 (0)\n"
      + "  --port N             the first of those that are used (4711)\n"
      + "  --threads N          each sends a file of its own (2)\n"
      + "  --files SIZE,...     before they are scaled (1G,2G,4G,8G)\n"
      + "  --scale 1/N          of each file so much is sent (1/1)\n"
      + "  --buffers SIZE,...   (1M,2M,4M,8M)\n"
      + "  --warm N             short messages that are sent first, without being timed (500)\n"
      + "  --folder FOLDER      files are read from there, and made first; else from memory";

  boolean listens;
  String where;
  boolean tcp;
  int adapter;
  int port = 4711;
  int threads = 2;
  List<Long> files = sizes("1G,2G,4G,8G");
  long scale = 1;
  List<Long> buffers = sizes("1M,2M,4M,8M");
  int warm = 500;
  String folder;

  Options(String[] words) {
    for (int i = 0; i < words.length; ++i) {
      if (words[i].equals("--listen")) {
        listens = true;
      } else if (i + 1 < words.length) {
        take(words[i], words[++i]);
      } else {
        throw new IllegalArgumentException(words[i] + " is no option, or its value is missing");
      }
    }
    if (listens == (where != null)) {
      throw new IllegalArgumentException("one of --listen and --connect is needed");
    }
  }

  private void take(String option, String value) {
    switch (option) {
      case "--connect" -> where = value;
      case "--transport" -> tcp = isTcp(value);
      case "--adapter" -> adapter = Integer.parseInt(value);
      case "--port" -> port = Integer.parseInt(value);
      case "--threads" -> threads = Integer.parseInt(value);
      case "--files" -> files = sizes(value);
      case "--scale" -> scale = part(value);
      case "--buffers" -> buffers = sizes(value);
      case "--warm" -> warm = Integer.parseInt(value);
      case "--folder" -> folder = value;
      default -> throw new IllegalArgumentException("there is no option " + option);
    }
  }

  private static boolean isTcp(String value) {
    if (!value.equals("tcp") && !value.equals("pcie")) {
      throw new IllegalArgumentException("--transport " + value + "; there are pcie and tcp");
    }
    return value.equals("tcp");
  }

  private static long part(String value) {
    if (!value.startsWith("1/") || Long.parseLong(value.substring(2)) < 1) {
      throw new IllegalArgumentException("--scale " + value + "; it is like 1/1024");
    }
    return Long.parseLong(value.substring(2));
  }

  private static List<Long> sizes(String value) {
    List<Long> all = new ArrayList<>();
    for (String word : value.split(",")) {
      int unit = "KMG".indexOf(word.charAt(word.length() - 1));
      String number = unit < 0 ? word : word.substring(0, word.length() - 1);
      long size = Long.parseLong(number) << (10 * (unit + 1));
      if (size < 1) {
        throw new IllegalArgumentException("a size of " + word);
      }
      all.add(size);
    }
    return all;
  }
}
