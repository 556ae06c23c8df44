// Files that are members of containers or fields: who writes one has a name to write to, and so has
// whoever it calls.

#include "rubato/flow/interpret/leaf_functions.hpp"
#include "rubato/flow/interpret/run_script_test.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

void put_text(LeafCall& call) {
  write_to(call.outputs.at(0).as_text(), call.inputs.at(0).as_text());
}
[[maybe_unused]] const bool kLeaf = register_leaf("put_text", {&put_text});

constexpr const char* kCallables = R"(
leaf put_text(string s) to (file f)
app echo(string s) to (file f) { "sh" "-c" "echo $1 > $0" f s }
struct pair { file f; integer n }
)";

TEST(MemberFiles, are_written_by_leaves_as_by_apps) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const TempFolder folder;
    const Ran ran = run_text(shape_of(seed), std::string(kCallables) + R"(
container<string, container<integer, file>> files
pair p q
for i in [1:3] {
  when { } then {files["leaf"][i]} from {put_text (string(i))}
  when { } then {files["app"][i]} from {echo (string(i))}
}
when { } then {p.f} from {put_text "p"}
when { } then {q.f} from {echo "q"}
p.n = 1
q.n = 2
foreach all, who in files { foreach f, i in all { print(who, i, trim(read(f))) } }
print(read(p.f), p.n, trim(read(q.f)), q.n)
)",
                             folder.path());
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, "app 1 1\napp 2 2\napp 3 3\nleaf 1 1\nleaf 2 2\nleaf 3 3\np 1 q 2\n");
  }
}

TEST(MemberFiles, have_their_names_before_a_function_is_called_for_them) {
  for (std::uint64_t seed = 0; seed < n_seeds(12); ++seed) {
    const TempFolder folder;
    const Ran ran = run_text(shape_of(seed), std::string(kCallables) + R"(
app copy_of_name(string name) to (file f) { "sh" "-c" "echo $1 > $0" f name }
function make(integer i) to (file f) { when {i} then {f} from {copy_of_name filename(f)} }
function by_leaf(string s) to (file f) { when {s} then {f} from {put_text s} }
function through(integer i) to (file f) { when {i} then {f} from {make i} }
container<integer, file> files
pair p
file alone
when { } then {files[1]} from {make 1}
when { } then {files[2]} from {through 2}
when { } then {files[3]} from {by_leaf "three"}
when { } then {p.f} from {through 3}
when { } then {alone} from {make 4}
p.n = 0
print(trim(read(files[1])) == filename(files[1]), trim(read(files[2])) == filename(files[2]))
print(read(files[3]), trim(read(p.f)) == filename(p.f), trim(read(alone)) == filename(alone))
)",
                             folder.path());
    ASSERT_EQ(ran.result.text(), "") << "seed " << seed;
    ASSERT_EQ(ran.out, "three true true\ntrue true\n");
  }
}

// Whatever the key is.
TEST(MemberFiles, lie_in_the_folder_of_temporary_files) {
  const TempFolder folder;
  folder.file("precious", "precious");
  const std::string text =
      std::string(kCallables) +
      "container<string, file> files\n"
      "string long = join(split(\"" +
      std::string(300, ' ') +
      "\", \" \"), \"key\")\n"
      "foreach key in split(\"lib/../../precious,../precious,/dev/null,..,a\\nb\", \",\") {\n"
      "  when {key} then {files[key]} from {echo key}\n}\n"
      "when {long} then {files[long]} from {put_text \"long\"}\n"
      "foreach f in files { print(length(trim(read(f))) > 0) }\n";
  for (std::uint64_t seed = 0; seed < n_seeds(6); ++seed) {
    std::filesystem::create_directory(folder / "temporary");
    const Ran ran = run_text(shape_of(seed), text, folder / "temporary");
    ASSERT_EQ(ran.result.text(), "");
    ASSERT_EQ(ran.out, "true\ntrue\ntrue\ntrue\ntrue\ntrue\n");
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"precious", "temporary"}));
    EXPECT_EQ(content_of(folder / "precious"), "precious");
  }
}

}  // namespace
}  // namespace rubato::flow
