// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fetch with both ends in one process, on software devices.
#include "fetch_program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "exrnic/connect.h"
#include "fake_fabric.h"
#include "pattern.h"

namespace exrnic {
namespace {

std::string Listening(const Stream& listener) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  REQUIRE(getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

// A server's thread, and where it listens.
class Server {
 public:
  Server(FakeFabric* fabric, FetchedFile file)
      : listener_(vl_conn_listen("127.0.0.1:0"), "vl_conn_listen"), thread_([=] {
          try {
            ServeFile(file, listener_, [&] { return fabric->Open(0); });
          } catch (const std::exception& error) {
            error_ = error.what();
          }
        }) {}
  ~Server() {
    if (thread_.joinable()) thread_.join();
  }

  std::string address() const { return Listening(listener_); }
  // What it had to say when it ended; "": nothing went wrong.
  std::string Join() {
    thread_.join();
    return error_;
  }

 private:
  const Stream listener_;
  std::string error_;
  std::thread thread_;
};

FetchedFile File(size_t bytes) {
  FetchedFile file{"a name", std::vector<uint8_t>(bytes)};
  FillPattern(PatternStream(1, bytes), file.bytes.data(), bytes);
  return file;
}

TEST_CASE("exrnic-fetch brings every byte of a file, and its name") {
  const size_t bytes = GENERATE(1u, 1u << 20, (6u << 20) + 13);
  FakeFabric fabric(2);
  fabric.Start();
  const FetchedFile file = File(bytes);
  Server server(&fabric, file);
  const FetchedFile fetched = FetchFile(server.address(), [&] { return fabric.Open(1); });
  CHECK(fetched.name == file.name);
  CHECK((fetched.bytes == file.bytes));  // not printed
  CHECK(server.Join().empty());
}

TEST_CASE("a file's name that is too long for exrnic-fetch comes as far as it fits") {
  FakeFabric fabric(2);
  fabric.Start();
  FetchedFile file = File(1);
  file.name.assign(VL_CONN_PRIVATE_MAX + 1, 'n');
  Server server(&fabric, file);
  const FetchedFile fetched = FetchFile(server.address(), [&] { return fabric.Open(1); });
  CHECK(fetched.name == std::string(VL_CONN_PRIVATE_MAX, 'n'));
}

TEST_CASE("exrnic-fetch waits for no FIFO, and says which file it cannot serve") {
  char folder[] = "fetch_program_test.XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/file";
  const auto said = [&]() -> std::string {
    try {
      return std::to_string(ReadFile(path).bytes.size()) + " bytes";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  CHECK(said() == "cannot read " + path + ": No such file or directory");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(said() == "cannot read " + path + ": it is no regular file; name one");
  unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << "";
  CHECK(said() == path + " is empty, and a memory region has at least a byte");
  std::ofstream(path, std::ios::binary) << "text";
  CHECK(said() == "4 bytes");
  REQUIRE(truncate(path.c_str(), (off_t{1} << 30) + 1) == 0);
  CHECK(said() == path + " is too large: it has 1073741825 bytes, and a client takes 1073741824 " +
                      "at most");
  unlink(path.c_str());
  rmdir(folder);
}

TEST_CASE("the server of exrnic-fetch says what went wrong") {
  FakeFabric fabric(2);
  fabric.Start();
  SECTION("an empty file") {
    Server server(&fabric, File(0));
    CHECK(server.Join() == "a name is empty, and a memory region has at least a byte");
  }
  SECTION("a client that leaves before it has all bytes") {
    Server server(&fabric, File(100));
    {
      const Stream stream(vl_conn_connect(server.address().c_str(), 10'000), "vl_conn_connect");
      const Owned<vl_rnic> rnic(fabric.Open(1));
      const Owned<vl_pd> pd = AllocatePd(rnic.get());
      const Owned<vl_cq> cq = CreateCq(rnic.get(), 4);
      const Owned<vl_qp> qp = CreateQp(pd.get(), QpAttributes(cq.get(), 1));
      const vl_conn_info mine = {};
      vl_conn_info theirs;
      REQUIRE(vl_connect_qp(qp.get(), stream.fd(), &mine, &theirs, 10'000) == 0);
    }
    CHECK(server.Join() == "the client left before it had all of a name");
  }
}

// What a client says of a server that tells of so many bytes, which it does not have.
std::string ErrorAfterLie(uint64_t length) {
  FakeFabric fabric(2);
  fabric.Start();
  const Stream listener(vl_conn_listen("127.0.0.1:0"), "vl_conn_listen");
  std::thread liar([&] {
    const Owned<vl_rnic> rnic(fabric.Open(0));
    const Owned<vl_pd> pd = AllocatePd(rnic.get());
    const Owned<vl_cq> cq = CreateCq(rnic.get(), 4);
    vl_qp_init_attr init = QpAttributes(cq.get(), 1);
    init.max_reads_in = VL_MAX_READS;
    const Owned<vl_qp> qp = CreateQp(pd.get(), init);
    const int fd = vl_conn_accept(listener.fd(), 10'000);
    vl_conn_info mine = {};
    mine.length = length;
    mine.stag = 0x12345600;
    vl_conn_info theirs;
    vl_connect_qp(qp.get(), fd, &mine, &theirs, 10'000);
    uint8_t none;
    (void)!recv(fd, &none, 1, 0);
    close(fd);
  });
  std::string error;
  try {
    FetchFile(Listening(listener), [&] { return fabric.Open(1); });
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  liar.join();
  return error;
}

TEST_CASE("the client of exrnic-fetch says which bytes it could not get") {
  CHECK(ErrorAfterLie(100).find("the PULL at byte 0 failed: ") == 0);
}

TEST_CASE("the client of exrnic-fetch takes memory for no file that is none, or too large") {
  for (const uint64_t length : {uint64_t{0}, (uint64_t{1} << 30) + 1, uint64_t{1} << 63}) {
    INFO(length);
    CHECK(ErrorAfterLie(length).find("its file has " + std::to_string(length) + " bytes: 1 to ") !=
          std::string::npos);
  }
}

}  // namespace
}  // namespace exrnic
