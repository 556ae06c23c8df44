// Leaves of scripts in a shared library, built by the command that its example has.

#include "rubato/flow/plugin/plugin.hpp"

#include <cstdlib>

#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/program/detail/testing.hpp"

namespace rubato::flow {
namespace {

using program_testing::contains;
using program_testing::content_of;
using program_testing::TempFolder;
using program_testing::write_to;

const std::string kRoot = std::string(RUBATO_TIC_FOLDER) + "/../../../..";

void build(const std::string& source, const std::string& library) {
  const std::string command = "cc -std=c99 -Wall -Wextra -Werror -shared -fPIC -I " + kRoot +
                              "/src " + source + " -o " + library;
  EXPECT_EQ(std::system(command.c_str()), 0)
      << command;  // NOLINT(cert-env33-c): the documented one
}

std::string library_of(const std::string& source, const TempFolder& folder) {
  static int n_libraries = 0;
  const std::string library = folder.path() + "/lib" + std::to_string(++n_libraries) + ".so";
  build(source, library);
  return library;
}

std::string message_of(const std::string& path) {
  try {
    load_plugin(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Plugin, has_leaves_in_c) {
  const TempFolder folder;
  load_plugin(library_of(kRoot + "/examples/22_plugin/leaves.c", folder));
  const std::string script = content_of(kRoot + "/examples/22_plugin/means.tic");
  const std::string table = folder.path() + "/table.txt";
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    FlowResult result;
    testing::internal::CaptureStdout();
    global::simulate_seed(1 + static_cast<std::uint32_t>(seed % 3), 2, seed, [&] {
      result = run_script(script, "means.tic", {{{"table", table}}, folder.path()});
    });
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "# means\n1 2.5\n2 5\n3 7.5\n");
    EXPECT_EQ(result.text(), "");
    EXPECT_EQ(result.n_data_held, 0U);
  }
  EXPECT_EQ(content_of(table), "# means\n1 2.5\n2 5\n3 7.5\n");
}

TEST(Plugin, fails_a_call_that_asks_for_what_is_not_there) {
  const TempFolder folder;
  const std::string source = folder.path() + "/wrong.c";
  write_to(source, R"(
#include "rubato/flow/plugin/rubato_plugin.h"
static void wrong(const RubatoApi* api, RubatoCall* call, void* user) {
  (void)user;
  switch (api->as_integer(call, api->input(call, 0))) {
    case 1: api->as_text(call, api->input(call, 0), 0); break;
    case 2: api->input(call, 5); break;
    case 3: api->member(call, 0, 0); break;
    case 4: api->set_float(call, 1, 2.0); break;
    case 5: api->fail(call, "is not to be called with 5"); break;
    case 6: return;
    case 8: api->set_integer(call, 0, 3); return;
    case 9: api->fail(call, 0); break;
    case 10: api->set_string(call, 0, "bad", 3); break;
    default: break;
  }
  api->set_string(call, 0, "good", 4);
}
int rubato_plugin(const RubatoApi* api) {
  api->add_leaf("wrong", wrong, 0);
  return 0;
}
)");
  load_plugin(library_of(source, folder));
  const FlowResult result = run_flow_here(1, [] {});
  EXPECT_EQ(result.text(), "");
  FlowResult ran;
  testing::internal::CaptureStdout();
  global::run_here(2, [&] {
    ran = run_script(R"(
leaf wrong(integer n) to (string s)
for i in [1:10] {
  string s
  when {} then {s} from {wrong i}
  print(i, s)
}
)",
                     "wrong.tic");
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "7 good\n");
  EXPECT_EQ(ran.n_failures, 9U);
  const std::string text = ran.text();
  for (const char* part :
       {"asks for a value of kind string, found integer", "asks for input 5, expected 0 to 0",
        "asks for member 0 of input 0, expected none", "sets output 1, expected 0 to 0",
        "is not to be called with 5", "set no value for its output 's'",
        "set its output 's' to a value of kind integer, expected string", "has failed",
        "sets output 0 twice, expected once"}) {
    EXPECT_TRUE(contains(text, part)) << part << " in\n" << text;
  }
}

TEST(Plugin, that_was_built_anew_has_its_leaves_done_again) {
  const TempFolder folder;
  const std::string library = folder.path() + "/libanew.so";
  const auto run = [&](bool resume) {
    load_plugin(library);
    FlowResult result;
    RunOptions how;
    how.journal = {folder.path() + "/journal", resume};
    global::simulate_seed(2, 1, 1, [&] {
      result = run_script(R"(
leaf anew(integer n) to (integer m)
for i in [1 : 3] {
  integer m
  when {} then {m} from {anew i}
}
)",
                          "anew.tic", {}, how);
    });
    EXPECT_EQ(result.text(), "");
    return result.journal;
  };
  const std::string source = folder.path() + "/anew.c";
  write_to(source, R"(
#include "rubato/flow/plugin/rubato_plugin.h"
static void anew(const RubatoApi* api, RubatoCall* call, void* user) {
  (void)user;
  api->set_integer(call, 0, 1);
}
int rubato_plugin(const RubatoApi* api) {
  api->add_leaf("anew", anew, 0);
  return 0;
}
)");
  build(source, library);
  EXPECT_EQ(run(false).n_new, 3U);
  EXPECT_EQ(run(true).n_done, 3U);
  build(source, library);
  const JournalCounts again = run(true);
  EXPECT_EQ(again.n_again, 3U);
  EXPECT_EQ(again.why.at(0), "anew(2): its plugin libanew.so has changed");
  EXPECT_EQ(run(true).n_done, 3U);
}

TEST(Plugin, tells_a_leaf_when_its_time_is_up) {
  const TempFolder folder;
  write_to(folder.path() + "/endless.c", R"(
#include "rubato/flow/plugin/rubato_plugin.h"
static void endless(const RubatoApi* api, RubatoCall* call, void* user) {
  (void)user;
  while (!api->time_is_up(call)) continue;
  api->set_done(call, 0);
}
int rubato_plugin(const RubatoApi* api) {
  api->add_leaf("endless", endless, 0);
  return api->version < 2;
}
)");
  load_plugin(library_of(folder.path() + "/endless.c", folder));
  FlowResult ran;
  global::run_here(1, [&] {
    ran = run_script(
        "leaf endless() to (void v) timeout 0.01\nvoid v\nwhen { } then {v} from {endless}\n",
        "endless.tic");
  });
  EXPECT_EQ(ran.failures,
            std::vector<std::string>{"task 'endless' of endless.tic:3:1: took longer than 0.01 s"});
}

TEST(Plugin, says_why_it_cannot_be_loaded) {
  const TempFolder folder;
  EXPECT_TRUE(contains(message_of(folder.path() + "/none.so"), "cannot be loaded"));
  write_to(folder.path() + "/other.c", "int other(void) { return 0; }\n");
  EXPECT_TRUE(contains(message_of(library_of(folder.path() + "/other.c", folder)),
                       "found no function rubato_plugin"));
  write_to(folder.path() + "/no.c",
           "#include \"rubato/flow/plugin/rubato_plugin.h\"\n"
           "int rubato_plugin(const RubatoApi* api) { return api != 0 ? 7 : 0; }\n");
  EXPECT_TRUE(contains(message_of(library_of(folder.path() + "/no.c", folder)), "code 7"));
}

}  // namespace
}  // namespace rubato::flow
