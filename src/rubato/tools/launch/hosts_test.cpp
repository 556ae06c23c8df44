#include "rubato/tools/launch/hosts.hpp"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "rubato/base/error.hpp"

namespace rubato::tools {
namespace {

class Hostfile : public ::testing::Test {
 protected:
  std::vector<Host> read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_hostfile(path_);
  }
  std::string message_of(const std::string& text) {
    try {
      (void)read(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  ~Hostfile() override { std::remove(path_.c_str()); }

  std::string path_ = ::testing::TempDir() + "/hostfile-" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Hostfile, UnderstandsBothMpisForms) {
  const auto hosts = read("# machines\ncn-1 slots=2\n\ncn-2:3  # the big one\ncn-3\ncn-1\n");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].name, "cn-1");
  EXPECT_EQ(hosts[0].n_slots, 3U);  // named twice
  EXPECT_EQ(hosts[1].n_slots, 3U);
  EXPECT_EQ(hosts[2].n_slots, 1U);
}

TEST_F(Hostfile, ErrorsNameFileAndLine) {
  EXPECT_EQ(message_of("a\nb slot=2\n"),
            path_ + ":2: expected slots=N behind the host, found \"slot=2\"");
  EXPECT_EQ(message_of("a slots=0\n"),
            path_ + ":1: expected a positive number of slots, found \"0\"");
  EXPECT_EQ(message_of("a:1x\n"), path_ + ":1: expected a positive number of slots, found \"1x\"");
  EXPECT_EQ(message_of("a slots=1 b\n"),
            path_ + ":1: expected HOST [slots=N], found \"a slots=1 b\"");
  EXPECT_EQ(message_of("# nobody\n"), path_ + ": expected a line HOST [slots=N], found none");
  EXPECT_THROW((void)read_hostfile("/nowhere/hosts"), Error);
}

TEST(NodesFor, AsManyAsThereAreSlotsOrInProportion) {
  EXPECT_EQ(nodes_for(2, 2, 1), 1U);
  EXPECT_EQ(nodes_for(8, 8, 6), 6U);
  EXPECT_EQ(nodes_for(3, 8, 6), 3U);  // there is room for all
  EXPECT_EQ(nodes_for(7, 8, 6), 6U);
  EXPECT_EQ(nodes_for(16, 8, 6), 12U);  // two a slot
  EXPECT_EQ(nodes_for(9, 8, 1), 1U);
  EXPECT_EQ(nodes_for(4'000'000'000U, 4, 3), 3'000'000'000U);
}

}  // namespace
}  // namespace rubato::tools
