#include "rubato/flow/journal/journal_lock.hpp"

#include <csignal>
#include <memory>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

// What f() returns, in a process of its own.
template <class F>
int in_child(const F& f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(JournalLock, is_kept_by_who_has_it_whatever_became_of_earlier_tries) {
  const program_testing::TempFolder folder;
  const std::string journal = folder.path() + "/journal";
  const auto is_free = [&] {
    return in_child([&] { return JournalLock({journal, false}).in_use_by().empty() ? 1 : 0; }) == 1;
  };
  ASSERT_TRUE(is_free()) << "its process has ended";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    const JournalLock lock({journal, false});
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  auto first = std::make_unique<JournalLock>(JournalOptions{journal, false});
  EXPECT_EQ(first->in_use_by().find("process " + std::to_string(other) + " on "), 0U);
  EXPECT_FALSE(first->may_be_left()) << "it is of this machine";
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  const JournalLock second({journal, false});
  EXPECT_EQ(second.in_use_by(), "");
  first.reset();
  EXPECT_FALSE(is_free()) << "it has gone with the try before";
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace rubato::flow
