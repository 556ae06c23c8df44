#include "rubato/io/output_file.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rubato/base/error.hpp"
#include "rubato/io/detail/testing.hpp"

namespace rubato::io {
namespace {

using testing::content_of;
using testing::error_of;
using testing::TempFolder;

TEST(OutputFile, AppearsOnlyWithCommit) {
  const TempFolder folder;
  const std::string path = folder / "out.txt";
  OutputFile file(path);
  file.write("one\n");
  file.write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  EXPECT_EQ(content_of(path), "one\n" + std::string(1 << 20, 'x'));
  EXPECT_EQ(folder.n_files(), 1U);
}

TEST(OutputFile, LeavesTheOldFileAndNothingElseWithoutCommit) {
  const TempFolder folder;
  const std::string path = folder.file("out.txt", "old");
  {
    OutputFile file(path);
    file.write("new");
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.n_files(), 1U);
}

// Sizes around those of the buffer and of a disk's block, in pieces that fit neither.
TEST(OutputFile, HasTheSameBytesPastThePageCache) {
  const TempFolder folder;
  for (const std::string& path : {folder / "out.txt", std::string("/dev/shm/rubato-") +
                                                          std::to_string(::getpid()) + ".out"}) {
    for (const std::size_t n : {0U, 1U, 4096U, 1U << 20, (1U << 20) + 1, 3'333'333U}) {
      std::string whole;
      for (std::size_t i = 0; whole.size() < n; ++i)
        whole.append(std::min<std::size_t>(n - whole.size(), 1 + i * 7919 % 300'000),
                     static_cast<char>('a' + i % 26));
      OutputFile file(path, Durable::yes, Cached::no);
      for (std::size_t at = 0; at < n; at += 65'537)
        file.write(std::string_view(whole).substr(at, 65'537));
      file.commit();
      EXPECT_TRUE(content_of(path) == whole) << path << " " << n;
      EXPECT_EQ(file.n_bytes(), n);
    }
    std::filesystem::remove(path);
  }
  EXPECT_EQ(folder.n_files(), 0U);
}

TEST(OutputFile, NamesAFullDiskPastThePageCacheToo) {
  for (const std::size_t n : {10U, 1U << 21}) {
    const std::string message = error_of([&] {
      OutputFile file("/dev/full", Durable::yes, Cached::no);
      file.write(std::string(n, 'x'));
      file.commit();
    });
    EXPECT_EQ(message, "writing /dev/full: No space left on device");
  }
}

TEST(OutputFile, NamesFileAndCauseWhenTheDiskIsFull) {
  const std::string message = error_of([] {
    OutputFile file("/dev/full");
    file.write("some bytes");
    file.commit();
  });
  EXPECT_EQ(message, "writing /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(OutputFile, NamesAFullDiskThroughALinkToo) {
  const TempFolder folder;
  const std::string path = folder / "link";
  std::filesystem::create_symlink("/dev/full", path);
  const std::string message = error_of([&] { write_file(path, std::string(1 << 20, 'x')); });
  EXPECT_EQ(message, "writing " + path + ": No space left on device");
}

TEST(OutputFile, RefusesAPathWithoutItsFolderAtOnce) {
  const TempFolder folder;
  const std::string path = folder / "absent/out.txt";
  EXPECT_EQ(error_of([&] { OutputFile file(path); }),
            "writing " + path + ": No such file or directory");
}

TEST(OutputFile, RefusesAFolder) {
  const TempFolder folder;
  EXPECT_NE(error_of([&] { OutputFile file(folder / ""); }).find("found a folder"),
            std::string::npos);
}

TEST(OutputFile, KeepsALinkAndReplacesWhatItNames) {
  const TempFolder folder;
  const std::string real = folder.file("real.txt", "old");
  std::filesystem::create_symlink(real, folder / "link.txt");
  write_file(folder / "link.txt", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(content_of(real), "new");
}

TEST(OutputFile, HasTheModeOfAnOrdinaryFile) {
  const TempFolder folder;
  const mode_t mask = ::umask(022);
  write_file(folder / "out.txt", "x");
  ::umask(mask);
  struct stat info {};
  ASSERT_EQ(::stat((folder / "out.txt").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0644U);
}

TEST(SharedOutputFile, HoldsThePiecesOfAllNodesAtTheirOffsets) {
  const TempFolder folder;
  const std::string path = folder / "all.txt";
  {
    SharedOutputFile a(path, 7);
    SharedOutputFile b(path, 7);
    SharedOutputFile c(path, 7);
    c.write_at(8, "cccc");
    a.write_at(0, "aaaa");
    b.write_at(4, "bb");
    b.write_at(6, "bb");
    a.finish();
    b.finish();
    c.finish();
    EXPECT_FALSE(std::filesystem::exists(path));
    a.commit(12);
  }
  EXPECT_EQ(content_of(path), "aaaabbbbcccc");
  EXPECT_EQ(folder.n_files(), 1U);
}

TEST(SharedOutputFile, NoticesThatBytesAreMissing) {
  const TempFolder folder;
  const std::string path = folder / "all.txt";
  SharedOutputFile a(path, 7);
  a.write_at(0, "aaaa");
  a.finish();
  EXPECT_NE(error_of([&] { a.commit(5); }).find("expected 5 bytes from all nodes, found 4"),
            std::string::npos);
  EXPECT_EQ(folder.n_files(), 0U);
}

TEST(SharedOutputFile, GoesAwayWhenOneNodeFails) {
  const TempFolder folder;
  {
    SharedOutputFile a(folder / "all.txt", 7);
    a.write_at(0, "aaaa");
    a.finish();
    SharedOutputFile b(folder / "all.txt", 7);  // ends without finish
  }
  EXPECT_EQ(folder.n_files(), 0U);
}

// Rows `id mod n_parts` on each part, merged: the file has all in order whatever n_parts is.
void expect_merged(std::uint32_t n_parts, std::uint64_t n_rows) {
  const TempFolder folder;
  const std::string path = folder / "rows.csv";
  std::string expected = "id\n";
  for (std::uint64_t id = 0; id < n_rows; ++id)
    expected += std::to_string(id * 3) + "\n";
  for (std::uint32_t part = 0; part < n_parts; ++part) {
    SortedPart rows(path, 9, part);
    for (std::uint64_t id = part; id < n_rows; id += n_parts) {
      rows.add(id * 3, std::to_string(id * 3) + "\n");
    }
    rows.finish();
  }
  merge_parts(path, 9, n_parts, "id\n");
  EXPECT_EQ(content_of(path), expected) << n_parts << " parts";
  EXPECT_EQ(folder.n_files(), 1U);
}

TEST(MergeParts, WritesAllRowsByIdFromAnyNumberOfParts) {
  expect_merged(1, 10);
  expect_merged(3, 1000);
  expect_merged(16, 7);  // some parts are empty
}

TEST(MergeParts, MergesInRoundsWhenPartsAreMany) {
  expect_merged(600, 1500);
}

TEST(MergeParts, RefusesAnIdOfTwoNodesAndLeavesNothing) {
  const TempFolder folder;
  const std::string path = folder / "rows.csv";
  for (std::uint32_t part = 0; part < 2; ++part) {
    SortedPart rows(path, 9, part);
    rows.add(5, "5\n");
    rows.finish();
  }
  EXPECT_EQ(error_of([&] { merge_parts(path, 9, 2, ""); }),
            "writing " + path + ": id 5 comes from two nodes");
  EXPECT_EQ(folder.n_files(), 0U);
}

TEST(MergeParts, NamesTheMissingPart) {
  const TempFolder folder;
  const std::string message = error_of([&] { merge_parts(folder / "rows.csv", 9, 1, ""); });
  EXPECT_NE(message.find(".rows.csv.job9.part0: No such file"), std::string::npos) << message;
}

TEST(SortedPartDeathTest, RequiresAscendingIds) {
  const TempFolder folder;
  SortedPart rows(folder / "rows.csv", 9, 0);
  rows.add(5, "5\n");
  EXPECT_DEATH(rows.add(5, "5\n"), "precondition");
}

}  // namespace
}  // namespace rubato::io
