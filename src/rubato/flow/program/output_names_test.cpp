#include "rubato/flow/program/output_names.hpp"

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>
#include <unistd.h>

#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::error_of;
using program_testing::TempFolder;
using Names = std::vector<std::string>;

// As a program would.
void write(const TempFolder& folder, const OutputNames& outputs, const std::string& path,
           const std::string& content) {
  folder.file(outputs.temporary(path), content);
}

TEST(OutputNames, appear_with_the_commit) {
  const TempFolder folder;
  folder.file("b.txt", "old");
  OutputNames outputs({"a.txt", "b.txt"}, {.folder = folder.path()});
  write(folder, outputs, "a.txt", "A");
  write(folder, outputs, "b.txt", "B");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
  EXPECT_EQ(content_of(folder / "b.txt"), "old");
  outputs.commit();
  EXPECT_EQ(folder.names(), (Names{"a.txt", "b.txt"}));
  EXPECT_EQ(content_of(folder / "a.txt"), "A");
  EXPECT_EQ(content_of(folder / "b.txt"), "B");
}

TEST(OutputNames, appear_durably_too) {
  const TempFolder folder;
  OutputNames outputs({"a.txt"}, {.folder = folder.path(), .durable = true});
  write(folder, outputs, "a.txt", "A");
  outputs.commit();
  EXPECT_EQ(content_of(folder / "a.txt"), "A");
}

TEST(OutputNames, are_hidden_names_beside_with_the_extension) {
  const TempFolder folder;
  const OutputNames outputs({"deep/map.tar.gz", "plain"}, {.folder = folder.path()});
  const std::string& name = outputs.temporary("deep/map.tar.gz");
  EXPECT_TRUE(name.starts_with("deep/.map.tar.gz.rubato-" + std::to_string(getpid()) + "-"));
  EXPECT_TRUE(name.ends_with(".tar.gz"));
  EXPECT_TRUE(outputs.temporary("plain").starts_with(".plain.rubato-"));
}

TEST(OutputNames, fit_into_a_file_system_when_they_are_long) {
  const TempFolder folder;
  const std::string name = std::string(251, 'x') + ".txt";
  OutputNames outputs({name}, {.folder = folder.path()});
  write(folder, outputs, name, "A");
  outputs.commit();
  EXPECT_EQ(folder.names(), Names{name});
}

TEST(OutputNames, leave_nothing_without_a_commit) {
  const TempFolder folder;
  folder.file("a.txt", "old");
  {
    const OutputNames outputs({"a.txt", "b.txt"}, {.folder = folder.path()});
    write(folder, outputs, "a.txt", "A");
    folder.file(outputs.temporary("b.txt") + ".part", "B");
  }
  EXPECT_EQ(folder.names(), Names{"a.txt"});
  EXPECT_EQ(content_of(folder / "a.txt"), "old");
}

TEST(OutputNames, make_their_folders) {
  const TempFolder folder;
  OutputNames outputs({folder / "x/y/a.txt"});
  EXPECT_TRUE(std::filesystem::is_directory(folder / "x/y"));
  folder.file("blocked", "a file");
  EXPECT_TRUE(contains(error_of([&] { OutputNames({folder / "blocked/a.txt"}); }),
                       "its folder " + folder / "blocked" + " cannot be made: Not a directory"));
}

TEST(OutputNames, refuse_one_file_twice) {
  const TempFolder folder;
  const OutputOptions options{.folder = folder.path()};
  EXPECT_EQ(error_of([&] {
              OutputNames({"a", "b", "a"}, options);
            }),
            "output a: expected outputs of different names, found it twice");
  EXPECT_EQ(error_of([&] {
              OutputNames({"a", "x/../a"}, options);
            }),
            "output x/../a: it is the same file as output a");
  std::filesystem::create_symlink("a", folder / "link");
  EXPECT_EQ(error_of([&] {
              OutputNames({"a", "link"}, options);
            }),
            "output link: it is the same file as output a");
}

TEST(OutputNames, refuse_a_folder) {
  const TempFolder folder;
  EXPECT_EQ(error_of([&] { OutputNames({folder.path()}); }),
            "output " + folder.path() + ": expected the name of a file, found a folder");
  EXPECT_TRUE(contains(error_of([&] { OutputNames({""}); }), "found none"));
}

TEST(OutputNames, name_the_nearest_of_an_unknown_output) {
  const TempFolder folder;
  const OutputNames outputs({"result.csv"}, {.folder = folder.path()});
  EXPECT_EQ(error_of([&] { (void)outputs.temporary("resutl.csv"); }),
            "output resutl.csv: it is not among the outputs of this task "
            "(did you mean \"result.csv\"?)");
}

// What commit() says when the program did `act` in the place of writing out.txt.
template <class Act>
std::string missing(const Act& act) {
  const TempFolder folder;
  folder.file("out.txt", "old");
  folder.file("other.txt", "of another task");
  OutputNames outputs({"fine.txt", "out.txt"}, {.folder = folder.path()});
  write(folder, outputs, "fine.txt", "F");
  act(folder, outputs.temporary("out.txt"));
  const std::string message = error_of([&] { outputs.commit(); });
  // Nothing of the task is left, also not what it had written as promised.
  EXPECT_FALSE(std::filesystem::exists(folder / "fine.txt"));
  for (const std::string& name : folder.names())
    EXPECT_FALSE(name.starts_with('.')) << name;
  const std::string expected = "output out.txt: expected that the program writes it as ";
  EXPECT_TRUE(message.starts_with(expected)) << message;
  return message.substr(message.find(", found") + 2);
}

TEST(OutputNames, say_what_is_there_in_place_of_an_output) {
  EXPECT_EQ(missing([](const TempFolder&, const std::string&) {}), "found nothing");
  EXPECT_EQ(
      missing([](const TempFolder& folder, const std::string&) { folder.file("ot.txt", ""); }),
      "found nothing (did you mean \"ot.txt\"?)");
  EXPECT_EQ(missing([](const TempFolder& folder, const std::string&) {
              folder.file("out.txt.new", "");
              std::filesystem::rename(folder / "out.txt.new", folder / "out.txt");
            }),
            "found that it wrote out.txt itself");
  EXPECT_EQ(missing([](const TempFolder& folder, const std::string& name) {
              std::filesystem::create_directory(folder / name);
            }),
            "found a folder");
  EXPECT_EQ(missing([](const TempFolder& folder, const std::string& name) {
              std::filesystem::create_symlink("nowhere", folder / name);
            }),
            "found a link to nothing");
  const std::string other = missing(
      [](const TempFolder& folder, const std::string& name) { folder.file(name + ".gz", ""); });
  EXPECT_TRUE(other.ends_with(".txt.gz\"")) << other;
}

TEST(OutputNames, keep_a_link_and_replace_what_it_names) {
  const TempFolder folder;
  folder.file("real/a.txt", "old");
  std::filesystem::create_symlink("real/a.txt", folder / "link.txt");
  OutputNames outputs({"link.txt"}, {.folder = folder.path()});
  program_testing::write_to(outputs.temporary("link.txt"), "new");
  outputs.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.txt"));
  EXPECT_EQ(content_of(folder / "real/a.txt"), "new");
}

TEST(OutputNames, write_a_device_directly) {
  OutputNames outputs({"/dev/null"});
  EXPECT_EQ(outputs.temporary("/dev/null"), "/dev/null");
  outputs.commit();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(OutputNames, do_not_remove_those_of_a_neighbour) {
  const TempFolder folder;
  const OutputOptions options{.folder = folder.path()};
  std::vector<std::unique_ptr<OutputNames>> all;
  for (int i = 0; i < 101; ++i) {
    all.push_back(std::make_unique<OutputNames>(Names{"a"}, options));
    write(folder, *all.back(), "a", std::to_string(i));
  }
  all.erase(all.begin() + 1, all.begin() + 11);
  EXPECT_EQ(folder.names().size(), 91U);
}

}  // namespace
}  // namespace rubato::flow
