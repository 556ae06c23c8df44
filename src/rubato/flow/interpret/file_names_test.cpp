// Names of files that are there only when something else is.

#include "rubato/flow/interpret/file_names.hpp"

#include <filesystem>

#include <unistd.h>

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::content_of;
using program_testing::TempFolder;

std::int64_t thrice(std::int64_t n) {
  if (n == 13) throw Error("no luck with 13");
  return 3 * n;
}
[[maybe_unused]] const bool kLeaves =
    register_leaf("thrice_for_names", &thrice) &&
    register_leaf("write_named", {[](LeafCall& call) {
                    program_testing::write_to(call.outputs.at(0).as_text(), "by a leaf");
                  }});

constexpr const char* kCallables = R"(
leaf thrice_for_names(integer n) to (integer m)
leaf write_named(integer n) to (file f)
app put(string text) to (file f) { "printf" text stdout=f }
app merge(container<integer, file> parts) to (file f) { "cat" parts stdout=f }
app copy(file a) to (file b) { "cp" a b }
function thrice(integer n) to (integer m) {
  when {n} then {m} from {thrice_for_names n}
}
)";

// With FOLDER as the folder.
std::string in_folder(const TempFolder& folder, std::string text) {
  for (std::size_t at = text.find("FOLDER"); at != std::string::npos; at = text.find("FOLDER"))
    text.replace(at, 6, folder.path());
  return kCallables + text;
}

// The names of the files that are there, and what is in them, apart from FOLDER in it.
std::string files_of(const TempFolder& folder) {
  std::string all;
  for (const std::string& name : folder.names()) {
    if (std::filesystem::is_regular_file(folder / name))
      all += name + ": " + content_of(folder / name) + "\n";
  }
  return all;
}

TEST(FileNames, are_made_of_results_in_loops_and_functions) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const TempFolder folder;
    static_cast<void>(folder.file("given-9", "given"));
    const Ran ran = run_text(seed, in_folder(folder, R"(
function make(integer i, string stem) to (file out) {
  integer n
  when {i} then {n} from {thrice i}
  file inner (stem ++ n ++ ".in")
  string name = filename(out)
  when {i} then {inner} from {put ("part" ++ i ++ " ")}
  when {inner name} then {out} from {copy inner}
}
container<integer, file> parts
for i in [1:3] {
  integer n
  when { } then {n} from {thrice (10 * i)}
  file part ("FOLDER/part-" ++ n)
  integer again
  when { } then {again} from {thrice i}
  when { } then {part} from {make again "FOLDER/"}
  insert parts[i] = part
}
integer n
when {parts} then {n} from {thrice_for_names size(parts)}
file all ("FOLDER/all-" ++ n) by_leaf ("FOLDER/leaf-" ++ n) given ("FOLDER/given-" ++ n)
when {parts} then {all} from {merge parts}
when { } then {by_leaf} from {write_named 1}
print(read(all), substring(filename(all), length("FOLDER")), read(by_leaf), read(given))
)"));
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, "part3 part6 part9  /all-9 by a leaf given\n") << "seed " << seed;
    ASSERT_EQ(files_of(folder),
              "18.in: part6 \n27.in: part9 \n9.in: part3 \nall-9: part3 part6 part9 \n"
              "given-9: given\nleaf-9: by a leaf\npart-30: part3 \npart-60: part6 \n"
              "part-90: part9 \n")
        << "seed " << seed;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(FileNames, are_read_before_the_file_is_closed) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const TempFolder folder;
    // What is written is made of the name: it is there before.
    const Ran ran = run_text(seed, in_folder(folder, R"(
function of_name(file a, file given) to (file b) {
  string s = filename(a)
  string g = filename(given)
  when {s g} then {b} from {put ("to " ++ length(s) ++ " " ++ length(g))}
}
integer n
when { } then {n} from {thrice 33}
file a ("FOLDER/" ++ n) b ("FOLDER/b-" ++ n) never ("FOLDER/" ++ n ++ ".never")
string s = filename(a)
when {s} then {a} from {put substring(s, length("FOLDER") + 1)}
when { } then {b} from {of_name a never}
print(read(a), length(read(b)) > 6)
)"));
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, "99 true\n") << "seed " << seed;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(FileNames, that_fail_fail_the_file_and_what_needs_it) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const TempFolder folder;
    const Ran ran = run_text(seed, in_folder(folder, R"(
integer n m
when { } then {n} from {thrice_for_names 13}
when { } then {m} from {thrice_for_names 1}
file by_leaf ("FOLDER/a-" ++ n)
file by_division ("FOLDER/b-" ++ (m / (m - 3)))
file good ("FOLDER/c-" ++ m)
when { } then {by_leaf} from {put "a"}
when { } then {by_division} from {put "b"}
when { } then {good} from {put "c"}
print(read(by_leaf))
print(filename(by_division))
print(read(by_division))
print(read(good))
)"));
    ASSERT_EQ(ran.out, "c\n") << "seed " << seed;
    ASSERT_EQ(files_of(folder), "c-3: c\n") << "seed " << seed;
    ASSERT_EQ(ran.result.n_failures, 2U) << ran.result.text();
    // The name of the first, two programs, and three that print.
    ASSERT_EQ(ran.result.counters.n_skipped, 6U) << ran.result.text();
    const std::string text = ran.result.text();
    ASSERT_NE(
        text.find(
            "task 'thrice_for_names' of test.tic:12:1: thrice_for_names(13): no luck with 13"),
        std::string::npos)
        << text;
    ASSERT_NE(text.find("the name of file 'by_division' of test.tic:15:6: test.tic:15:"),
              std::string::npos)
        << text;
    ASSERT_NE(text.find(": division by zero"), std::string::npos) << text;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(FileNames, are_of_one_file_each) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const TempFolder folder;
    const Ran ran = run_text(seed, in_folder(folder, R"(
file a "FOLDER/same"
file b "FOLDER/x/..//same"
when { } then {a} from {put "one"}
when { } then {b} from {put "one"}
for i in [1:3] {
  integer n
  when { } then {n} from {thrice (i / 2)}
  file c ("FOLDER/" ++ n)
  when {n} then {c} from {put ("" ++ n)}
  wait (c) { print("wrote", n) }
}
file d "/dev/null" e "/dev/null"
when { } then {d} from {put "d"}
when { } then {e} from {put "e"}
wait (d e) { print("devices") }
)"));
    // Of i = 2 and 3 one.
    ASSERT_EQ(ran.out, "devices\nwrote 0\nwrote 3\n") << "seed " << seed << ran.result.text();
    ASSERT_EQ(files_of(folder), "0: 0\n3: 3\nsame: one\n") << "seed " << seed;
    ASSERT_EQ(ran.result.n_failures, 2U) << ran.result.text();
    const std::string text = ran.result.text();
    const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
    const bool names_a_or_b =
        has("file 'b' of test.tic:12:6: found the name " + folder / "x/..//same" +
            ", which file 'a' of test.tic:11:6 has, expected one of its own") ||
        has("file 'a' of test.tic:11:6: found the name " + folder / "same" +
            ", which file 'b' of test.tic:12:6 has, expected one of its own");
    ASSERT_TRUE(names_a_or_b) << text;
    ASSERT_TRUE(has("file 'c' of test.tic:18:8: found the name " + folder / "3" +
                    ", which file 'c' of test.tic:18:8 has"))
        << text;
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(FileNames, that_are_relative_are_those_of_the_folder_of_the_run) {
  const TempFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Ran ran = run_text(seed, in_folder(folder, R"(
file a "same"
file b "FOLDER/same"
when { } then {a} from {put "one"}
when { } then {b} from {put "one"}
)"));
    EXPECT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    EXPECT_NE(ran.result.text().find(" has, expected one of its own"), std::string::npos);
  }
  std::filesystem::current_path(before);
}

TEST(FileNames, in_shared_memory_are_names_of_files) {
  const std::string path = "/dev/shm/rubato-file-names-" + std::to_string(::getpid());
  const Ran ran = run_text(3, kCallables + ("file a \"" + path + "\"\nfile b \"" + path +
                                            "\"\n"
                                            "when { } then {a} from {put \"one\"}\n"
                                            "when { } then {b} from {put \"one\"}\n"));
  EXPECT_EQ(ran.result.n_failures, 1U) << ran.result.text();
  EXPECT_EQ(content_of(path), "one");
  std::filesystem::remove(path);
}

TEST(FileNames, belong_to_the_file_that_is_written) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const TempFolder folder;
    const Ran ran = run_text(seed, in_folder(folder, R"(
function write(string text) to (file f) { when {text} then {f} from {put text} }
file a "FOLDER/z" b "FOLDER/z"
file c "FOLDER/y" d "FOLDER/y"
integer n
when { } then {n} from {thrice 1}
if n == 3 { when { } then {a} from {put "a"} } else { when { } then {b} from {put "b"} }
if n == 4 { when { } then {c} from {write "c"} } else { when { } then {d} from {write "d"} }
print(read(a), read(d))
)"));
    ASSERT_EQ(ran.result.n_failures, 0U) << ran.result.text();
    ASSERT_EQ(ran.out, "a d\n") << seed << ran.result.text();
    ASSERT_EQ(files_of(folder), "y: d\nz: a\n");
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  }
}

TEST(FileNames, of_another_run_may_be_used_again) {
  const TempFolder folder;
  const std::string text = in_folder(folder, R"(
file a "FOLDER/same"
when { } then {a} from {put "one"}
)");
  FlowResult first;
  FlowResult second;
  global::run_here(2, [&] {
    first = run_script(text, "test.tic", {{}, folder.path()});
    second = run_script(text, "test.tic", {{}, folder.path()});
  });
  EXPECT_EQ(first.text() + second.text(), "");
}

TEST(FileNames, are_the_same_for_a_run_that_resumes) {
  const TempFolder folder;
  const TempFolder journal;
  const std::string text = in_folder(folder, R"(
integer n
when { } then {n} from {thrice_for_names 4}
for i in [1:5] {
  file f ("FOLDER/" ++ n ++ "-" ++ i)
  when {n} then {f} from {put ("" ++ i)}
}
)");
  const auto resumed = [&](bool resume) {
    RunOptions options;
    options.journal.folder = journal / "journal";
    options.journal.resume = resume;
    FlowResult result;
    global::run_here(2, [&] {
      result = run_script(text, "test.tic", {{}, folder.path()}, options);
    });
    EXPECT_EQ(result.text(), "");
    return result.journal;
  };
  EXPECT_EQ(resumed(false).n_new, 6U);
  std::filesystem::remove(folder / "12-3");
  const JournalCounts again = resumed(true);
  EXPECT_EQ(again.n_done, 5U);
  EXPECT_EQ(again.n_again, 1U);
  EXPECT_EQ(content_of(folder / "12-3"), "3");
}

TEST(FileNames, of_inputs_are_no_names_of_outputs) {
  const TempFolder folder;
  static_cast<void>(folder.file("a", "old"));
  const auto error_of = [&](const std::string& text) -> std::string {
    try {
      static_cast<void>(run_text(1, in_folder(folder, text)));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const std::string same = error_of(R"(
file out "FOLDER/a"
file old ("FOLDER/x/../" ++ arg("of", "a"))
when { } then {out} from {put "new"}
print(read(old))
)");
  EXPECT_EQ(same.substr(same.find("test.tic")),
            "test.tic:12:6: found the name " + folder.path() +
                "/x/../a for 'old', which nothing here writes, and for 'out' of "
                "test.tic:11:6, which is written; expected 'out' in place of 'old', or "
                "another name for one of them");
  EXPECT_NE(error_of(R"(
file old "FOLDER/a"
for i in [1:2] { file out "FOLDER/a"
  when { } then {out} from {put ("" ++ i)} }
print(read(old))
)")
                .find("test.tic:11:6: found the name"),
            std::string::npos);
  EXPECT_EQ(content_of(folder / "a"), "old");
  // Of two branches one; devices; inputs among themselves.
  const std::string good = R"(
integer n
when { } then {n} from {thrice 1}
if n == 3 { file old "FOLDER/a"
  print(read(old)) } else { file out "FOLDER/a"
  when { } then {out} from {put "new"} }
file null "/dev/null" nothing "/dev/null" b "FOLDER/b"
when { } then {null} from {put "x"}
print("nothing", read(nothing))
file one ("FOLDER/" ++ substring("a" ++ n, 0, 1)) two ("FOLDER/" ++ substring("a" ++ n, 0, 1))
when {one two} then {b} from {put (read(one) ++ read(two))}
)";
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Ran ran = run_text(seed, in_folder(folder, good));
    EXPECT_EQ(ran.result.text(), "") << "seed " << seed;
    EXPECT_EQ(ran.out, "nothing \nold\n");
    EXPECT_EQ(content_of(folder / "b"), "oldold");
  }
}

TEST(FileNames, of_inputs_that_turn_out_to_be_those_of_outputs_fail_what_comes_second) {
  const auto run_both = [](std::uint64_t seed, const std::string& text, const std::string& out,
                           const std::string& file, const std::string& told) {
    const TempFolder folder;
    static_cast<void>(folder.file("9", "old"));
    const Ran ran = run_text(seed, in_folder(folder, R"(
integer n m
when { } then {n} from {thrice 3}
)" + text + R"(
when {m} then {out} from {put "new"}
print(read(old))
print(read(out))
)"));
    ASSERT_EQ(ran.out, out) << "seed " << seed;
    ASSERT_EQ(files_of(folder), "9: " + file);
    ASSERT_EQ(ran.result.n_failures, 1U) << ran.result.text();
    ASSERT_NE(ran.result.text().find(told), std::string::npos) << ran.result.text();
    ASSERT_EQ(ran.result.n_data_held, 0U) << "seed " << seed;
  };
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    run_both(seed, "file old (\"FOLDER/\" ++ n) out (\"FOLDER/\" ++ n)\nm = length(read(old))",
             "old\n", "old\n",
             "which file 'old' of test.tic:13:6, an input, has, expected one of its own");
    run_both(seed,
             "m = n\nfile out (\"FOLDER/\" ++ n)\n"
             "file old (\"FOLDER/\" ++ (n + 0 * length(read(out))))",
             "new\n", "new\n",
             "which file 'out' of test.tic:14:6 has, that is written, expected that file in its "
             "place");
  }
}

TEST(FileNames, that_wait_for_their_own_file_are_told_before_the_run) {
  try {
    static_cast<void>(run_text(1, std::string(kCallables) + R"(
integer n
file f ("out" ++ n)
when { } then {f} from {put "x"}
n = length(read(f))
)"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("a circle: "), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rubato::flow
