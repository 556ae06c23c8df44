// What `rubato flow run` is told, and what it finds before its tasks do: how many programs run at a
// time, arguments that nobody reads, inputs that are not there, a journal that another run writes.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "rubato/tools/flow/script_test.hpp"

namespace rubato::tools {
namespace {

TEST(FlowCommandChecks, refuses_arguments_that_the_script_does_not_read) {
  const std::string path = script("steps.tic",
                                  "integer n = int(arg(\"n_steps\", \"10\"))\n"
                                  "print(n, arg(\"name\", \"wave\"))\n");
  const Answer wrong = call({"flow", "run", path, "--arg", "n_step=4"});
  EXPECT_EQ(wrong.code, 2) << wrong.err;
  EXPECT_EQ(wrong.out, "") << "nothing runs";
  EXPECT_NE(wrong.err.find("steps.tic: found the argument 'n_step', which nothing in it reads, "
                           "expected n_steps, name (did you mean \"n_steps\"?)"),
            std::string::npos)
      << wrong.err;
  EXPECT_EQ(call({"flow", "run", "--dry-run", path, "--arg", "n_step=4"}).code, 2);
  EXPECT_EQ(call({"flow", "run", path, "--arg", "n_steps=4"}).out, "4 wave\n");
  const Answer none = call({"flow", "run", script("no.tic", "print(1)\n"), "--arg", "n=4"});
  EXPECT_NE(none.err.find("expected none"), std::string::npos) << none.err;
  // Nobody knows before the run what such a script reads.
  const std::string any = script("any.tic", "for i in [1:2] { print(arg(\"a\" ++ i)) }\n");
  EXPECT_EQ(call({"flow", "run", any, "--arg", "a1=x", "--arg", "a2=x"}).out, "x\nx\n");
}

TEST(FlowCommandChecks, fails_inputs_that_are_not_there_with_their_places) {
  const std::string data = scratch("data.csv");
  const std::string copy = scratch("copy.csv");
  std::filesystem::remove(data);
  const std::string path = script("inputs.tic",
                                  "app cp(file a) to (file b) { \"cp\" a b }\n"
                                  "file data \"" +
                                      data + "\"\nfile copy \"" + copy +
                                      "\"\n"
                                      "when {data} then {copy} from {cp data}\nprint(\"on\")\n");
  const Answer missing = call({"flow", "run", path});
  EXPECT_EQ(missing.code, 4) << missing.err;
  EXPECT_EQ(missing.out, "on\n");
  EXPECT_NE(missing.err.find("task 'cp' of " + path + ":4:1: its input " + data +
                             ": No such file or directory"),
            std::string::npos)
      << missing.err;
  EXPECT_NE(missing.err.find("1 failed"), std::string::npos) << missing.err;
  const Answer plan = call({"flow", "run", "--dry-run", path});
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_NE(plan.out.find("not there now: " + data + ": No such file"), std::string::npos)
      << plan.out;
  // One whose name alone is used need not be there.
  EXPECT_EQ(
      call({"flow", "run", script("name.tic", "file f \"" + data + "\"\nprint(filename(f))\n")})
          .out,
      data + "\n");
  std::ofstream(data) << "1,2\n";
  EXPECT_EQ(call({"flow", "run", path}).code, 0);
  EXPECT_EQ(text_of(copy), "1,2\n");
  EXPECT_EQ(call({"flow", "run", "--dry-run", path}).out.find("not there"), std::string::npos);
}

TEST(FlowCommandChecks, refuses_a_journal_that_another_run_writes) {
  const std::string folder = scratch("one_journal");
  std::filesystem::remove_all(folder);
  const std::string path = script("wait.tic",
                                  "app wait_for(string f) to (void v) { \"sh\" \"-c\" "
                                  "\"echo > $0.on; while [ ! -e $0 ]; do sleep 0.02; done\" f }\n"
                                  "void v\nwhen { } then {v} from {wait_for arg(\"file\")}\n");
  const std::string file = scratch("go_on");
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".on");
  const auto arguments = [&](const char* how) {
    return std::vector<std::string>{"flow", "run", path, "--arg", "file=" + file, how, folder};
  };
  Finished first;
  std::thread other([&] { first = run_program(with({RUBATO_PROGRAM}, arguments("--journal"))); });
  for (int i = 0; i < 6'000 && !std::filesystem::exists(file + ".on"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(std::filesystem::exists(file + ".on")) << "the first run did not begin";
  const Answer second = call(arguments("--resume"));
  std::ofstream(file).flush();
  other.join();
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_NE(second.err.find("journal: found " + folder + " in use by process "), std::string::npos)
      << second.err;
  EXPECT_EQ(first.code, 0);
  EXPECT_NE(text_of(folder + "/journal.holder").find("process "), std::string::npos);
  const Answer third = call(arguments("--resume"));
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_NE(third.err.find("journal: 1 done before"), std::string::npos) << third.err;
}

TEST(FlowCommandChecks, run_as_many_programs_at_a_time_as_is_told) {
  const std::string lock = scratch("lock");
  const std::string path = script("alone.tic",
                                  "app alone(string s) to (void v) {\n"
                                  "  \"sh\" \"-c\" \"mkdir $0 && sleep 0.02 && rmdir $0\" s\n}\n"
                                  "for i in [1:8] { void v\n when { } then {v} from {alone \"" +
                                      lock + "\"} }\n");
  const Answer all = call({"flow", "run", path, "--native-threads", "1", "--cores", "2"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(call({"flow", "run", path, "--native-threads", "0"}).code, 2);
}

// Each of them ends when all have begun.
TEST(FlowCommandChecks, run_more_programs_at_a_time_than_there_are_processors) {
  const std::string folder = scratch("together");
  const auto together = [&](const std::string& type) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    return script("together.tic",
                  "app meet(string d, integer i) to (void v) " + type +
                      " {\n  \"sh\" \"-c\" \"> $0/$1; for i in `seq 1000`; do "
                      "test `ls $0 | wc -l` -ge 24 && exit; sleep 0.02; done; exit 1\" d i\n}\n"
                      "for i in [1:24] { void v\n when { } then {v} from {meet \"" +
                      folder + "\" i} }\n");
  };
  const Answer threads =
      call({"flow", "run", together(""), "--native-threads", "24", "--cores", "1"});
  EXPECT_EQ(threads.code, 0) << threads.err;
  const Answer workers = call({"flow", "run", together("type w"), "--workers", "w=24"});
  EXPECT_EQ(workers.code, 0) << workers.err;
}

// By a program of it, when another one has failed.
TEST(FlowCommandChecks, tell_what_came_of_a_run_that_did_not_end) {
  const std::string path = script("ended.tic",
                                  "app fail() to (string s) { \"sh\" \"-c\" \"exit 3\" stdout=s }\n"
                                  "app end(string p) to (void v) {\n"
                                  "  \"sh\" \"-c\" \"sleep 0.5; kill -INT $0; sleep 20\" p\n}\n"
                                  "string s\nvoid v\nwhen { } then {s} from {fail}\n"
                                  "when { } then {v} from {end arg(\"process\")}\n");
  const std::string report = scratch("ended.html");
  const std::string trace = scratch("ended.json");
  std::filesystem::remove(report);
  std::filesystem::remove(trace);
  const Finished ended = run_program(
      {"sh", "-c",
       "exec \"$0\" flow run \"$1\" --arg process=$$ --report \"$2\" --trace \"$3\" --json 2>&1",
       RUBATO_PROGRAM, path, report, trace});
  EXPECT_EQ(ended.code, 130) << ended.out;
  EXPECT_NE(ended.out.find("1 task failed:\n  task 'fail' of " + path + ":7:"), std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("ended with code 3"), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\"did_not_end\":"), std::string::npos) << ended.out;
  EXPECT_NE(text_of(report).find("The run did not end: "), std::string::npos);
  EXPECT_NE(text_of(report).find("ended with code 3"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(text_of(trace)));
}

TEST(FlowCommandChecks, leave_nothing_in_a_folder_that_is_no_journal) {
  const std::string folder = scratch("no_journal");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Answer wrong = call({"flow", "run", script("one.tic", "print(1)\n"), "--resume", folder});
  EXPECT_EQ(wrong.code, 3) << wrong.err;
  EXPECT_NE(wrong.err.find("journal: found no run in " + folder), std::string::npos) << wrong.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace rubato::tools
