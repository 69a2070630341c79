// SPDX-License-Identifier: BSD-2-Clause
// Makes a GTKWave save file from what an FST file says of itself. Flags of its lines: GTKWave's
// analyzer.h, TR_*.
#include <fmt/core.h>
#include <gtkwave/fstapi.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "waves.h"

namespace exrnic {
namespace {

constexpr char kCore[] = "u_core";
constexpr char kInstance[] = "u_";
constexpr unsigned kGroupBegin = 0xc00200;  // closed
constexpr unsigned kGroupEnd = 0x1401200;
constexpr unsigned kBit = 0x28;  // binary, right justified
constexpr unsigned kHexadecimal = 0x22;

// Where in the hierarchy the reader stands.
struct Scopes {
  std::vector<std::string> names;

  std::string path() const {
    std::string joined;
    for (const std::string& name : names) joined += name + ".";
    return joined;
  }
  // The core itself, a tile or a block of one: "core", "host", "registers". Empty above and below
  // these.
  std::string group() const {
    const auto core = std::find(names.begin(), names.end(), kCore);
    const auto depth = names.end() - core;
    if (depth == 1) return "core";
    const bool counts = (depth == 2 || depth == 3) && names.back().rfind(kInstance, 0) == 0;
    return counts ? names.back().substr(sizeof(kInstance) - 1) : "";
  }
};

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

struct Port {
  std::string name;  // with its path, as GTKWave writes it
  unsigned bits = 1;
};
struct Group {
  std::string name;
  std::vector<Port> ports;
};

// "data_i [31:0]" in the file is data_i[31:0] in GTKWave.
void add_port(std::vector<Group>& groups, const Scopes& scopes, std::string name, unsigned bits) {
  const std::string group = scopes.group();
  const size_t space = name.find(' ');
  const std::string bare = name.substr(0, space);
  if (group.empty() || !(ends_with(bare, "_i") || ends_with(bare, "_o") || ends_with(bare, "_ni")))
    return;
  if (space != std::string::npos) name.erase(space, 1);
  if (groups.empty() || groups.back().name != group) groups.push_back({group, {}});
  groups.back().ports.push_back({scopes.path() + name, bits});
}

std::vector<Group> groups_of(void* reader) {
  Scopes scopes;
  std::vector<Group> groups;
  while (const fstHier* item = fstReaderIterateHier(reader)) {
    if (item->htyp == FST_HT_SCOPE) {
      scopes.names.emplace_back(item->u.scope.name);
    } else if (item->htyp == FST_HT_UPSCOPE) {
      scopes.names.pop_back();
    } else if (item->htyp == FST_HT_VAR) {
      add_port(groups, scopes, {item->u.var.name, item->u.var.name_length}, item->u.var.length);
    }
  }
  return groups;
}

}  // namespace

bool write_gtkwave_save(const std::string& fst) {
  const std::unique_ptr<void, void (*)(void*)> reader(fstReaderOpen(fst.c_str()), fstReaderClose);
  if (reader == nullptr) return false;
  const std::vector<Group> groups = groups_of(reader.get());
  std::FILE* save = std::fopen((fst + ".gtkw").c_str(), "w");
  if (save == nullptr) return false;
  fmt::print(save,
             "[*] The ports of the core, by tile and block\n[dumpfile] \"{}\"\n[timestart] {}\n",
             std::filesystem::absolute(fst).string(), fstReaderGetStartTime(reader.get()));
  for (const auto& [name, ports] : groups) {
    fmt::print(save, "@{:x}\n-{}\n", kGroupBegin, name);
    unsigned flags = 0;
    for (const Port& port : ports) {
      const unsigned wanted = port.bits == 1 ? kBit : kHexadecimal;
      if (std::exchange(flags, wanted) != wanted) fmt::print(save, "@{:x}\n", wanted);
      fmt::print(save, "{}\n", port.name);
    }
    fmt::print(save, "@{:x}\n-{}\n", kGroupEnd, name);
  }
  return std::fclose(save) == 0;
}

}  // namespace exrnic
