// A journal whose folder was copied or moved goes on with the files that are in it.

#include <filesystem>

#include <gtest/gtest.h>

#include "rubato/flow/journal/journal.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

namespace fs = std::filesystem;
using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

// A task of a run, with an output without a name of its own.
struct Draw {
  std::string output;
  TaskIdentity task;

  explicit Draw(const JournalOptions& options)
      : Draw(Journal::temporary_folder(options.folder, options.run)) {}
  explicit Draw(const std::string& folder)
      : output(folder + "/out-" + std::to_string(folder.size() % 7)), task("draw", folder) {
    task.add("draw");
    task.add_output(output);
  }
};

// As `cp -a` does.
void copy_with_times(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_regular_file())
      fs::last_write_time(to / fs::relative(entry.path(), from), entry.last_write_time());
  }
}

TEST(MovedJournal, has_its_own_files) {
  const TempFolder folder;
  const std::string original = folder.path() + "/journal";
  const std::string copy = folder.path() + "/elsewhere/copy";
  fs::create_directories(folder.path() + "/elsewhere");
  const JournalOptions first_options = Journal::numbered({original, false});
  const Draw first(first_options);
  {
    Journal journal(first_options, 0);
    write_to(first.output, "drawn");
    journal.add(first.task, {Value::integer(5)});
  }
  copy_with_times(original, copy);

  const JournalOptions second_options = Journal::numbered({copy, true});
  const Draw second(second_options);
  {
    Journal journal(second_options, 0);
    const auto done = journal.find(second.task);
    ASSERT_TRUE(done) << journal.counts().why.at(0);
    EXPECT_EQ(done->at(0).as_integer(), 5);
  }
  EXPECT_EQ(content_of(second.output), "drawn");
  EXPECT_EQ(content_of(first.output), "drawn");

  // Once more, from what the run before has made of it; then the original is gone.
  fs::remove_all(original);
  const std::string moved = folder.path() + "/moved";
  fs::rename(copy, moved);
  const JournalOptions third_options = Journal::numbered({moved, true});
  const Draw third(third_options);
  Journal journal(third_options, 0);
  EXPECT_TRUE(journal.find(third.task));
  EXPECT_EQ(content_of(third.output), "drawn");
}

// A node that looks at another folder of that name: nothing that it wrote would be found again.
TEST(MovedJournal, is_refused_where_another_run_stands_in_it) {
  const TempFolder folder;
  JournalOptions options = Journal::numbered({folder.path() + "/journal", false});
  options.holder = "process 7 on a.b, since 2026-11-21T23:15:00Z";
  write_to(folder.path() + "/journal/journal.holder", options.holder);
  { const Journal journal(options, 0); }
  write_to(folder.path() + "/journal/journal.holder", "process 8 on a.b");
  try {
    const Journal journal(options, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("journal: node 1 sees in "), std::string::npos)
        << error.what();
  }
}

// As older ones wrote them: with the whole path.
TEST(MovedJournal, takes_no_files_of_another_one) {
  const TempFolder folder;
  const std::string others = folder.path() + "/other/files/0001";
  fs::create_directories(others);
  const Draw old(others);
  write_to(old.output, "drawn");
  {
    Journal journal(Journal::numbered({folder.path() + "/journal", false}), 0);
    journal.add(old.task, {});
  }
  const JournalOptions options = Journal::numbered({folder.path() + "/journal", true});
  const Draw again(options);
  Journal journal(options, 0);
  EXPECT_FALSE(journal.find(again.task));
  EXPECT_EQ(journal.counts().why.at(0),
            "draw: its output " + old.output + " is in the folder of another journal");
  EXPECT_EQ(content_of(old.output), "drawn");
}

}  // namespace
}  // namespace rubato::flow
