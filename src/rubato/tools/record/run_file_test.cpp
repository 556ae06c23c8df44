#include "rubato/tools/record/run_file.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace rubato::tools {
namespace {

RunStart start_of(RunStatus status, const std::string& checkpoint) {
  RunStart start;
  start.began = "2026-11-21T23:15:00Z";
  start.ended = "2026-11-21T23:16:00Z";
  start.checkpoint = checkpoint;
  start.begin = checkpoint.empty() ? 0 : 120;
  start.branch_tick = checkpoint.empty() ? 0 : 110;
  start.status = status;
  start.exit_code = 75;
  start.error = "node 2 (\"c\n3\") was lost";
  return start;
}

// Each field has a value of its own.
RunFile sample() {
  RunFile run;
  run.model = "heat";
  run.model_version = 3;
  run.parameters = {{"width", "60", true, 0},
                    {"walls", "house \"1\".png", true, 0xfedcba9876543210},
                    {"edge", "", false, 0}};
  run.policy = "replicate(2,3)";
  run.ticks = 1'000'000'000'000;
  run.epoch = 7;
  run.n_pieces = 64;
  run.balance = "persistence";
  run.seed = std::numeric_limits<std::uint64_t>::max();
  run.net_seed = 9;
  run.profile = "ec2-large,base=3";
  run.is_simulated = true;
  run.is_paced = true;
  run.slowdown = 0.1;
  run.slow_nodes = "4@0,3@7";
  run.n_nodes = 16;
  run.n_cores = 2;
  run.command = {"rubato", "run", "heat", ""};
  run.folder = "/home/ann/heat";
  run.output = "a/output";
  run.checkpoints = "a/checkpoints";
  run.trace = "trace.json";
  run.job = "20261121-231459-0a1b2c";
  run.build = {"0.1.0", "abc-dirty", "Release", "g++ 12.2.0", {"fma", "avx2"}, 0x12};
  run.mpi = "Open MPI v4.1.4";
  run.hosts = {{"cn-1", "Linux 6.1", "EPYC", 64, 1ULL << 40, {0, 1}}, {"cn-2", "", "", 1, 2, {}}};
  run.start = start_of(RunStatus::running, "a/checkpoints/tick-00000120");
  run.earlier = {start_of(RunStatus::lost, ""), start_of(RunStatus::checkpointed, "x")};
  return run;
}

std::string message_of(const std::string& text) {
  try {
    (void)parse_run_file(text, "a/run.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    return error.what();
  }
  return "";
}

// The sample with one piece of its text replaced.
std::string changed(const std::string& what, const std::string& by) {
  std::string text = to_json(sample());
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(RunFile, what_is_written_is_read_back) {
  const std::string text = to_json(sample());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
  EXPECT_EQ(parse_run_file(text, "a/run.json"), sample());
  EXPECT_EQ(parse_run_file(to_json(RunFile{}), "a/run.json"), RunFile{});
}

TEST(RunFile, fields_that_came_later_may_be_missing) {
  std::string text = to_json(sample());
  for (const std::string& field :
       {std::string("\"pieces\":64,"), std::string("\"balance\":\"persistence\","),
        std::string("\"slow_nodes\":\"4@0,3@7\","),
        std::string("\"job\":\"20261121-231459-0a1b2c\",")}) {
    ASSERT_NE(text.find(field), std::string::npos) << field;
    text.erase(text.find(field), field.size());
  }
  RunFile before = sample();
  before.n_pieces = 0;
  before.balance = before.slow_nodes = before.job = "";
  EXPECT_EQ(parse_run_file(text, "a/run.json"), before);
}

TEST(RunFile, older_files_say_of_a_start_whether_a_branch_began_with_it) {
  RunFile before = sample();
  before.earlier.clear();
  std::string text = to_json(before);
  const std::string field = "\"branch_tick\":110";
  text.replace(text.find(field), field.size(), "\"branch\":true");
  before.start.branch_tick = before.start.begin;
  EXPECT_EQ(parse_run_file(text, "a/run.json"), before);
  text.replace(text.find("\"branch\":true"), 13, "\"branch\":false");
  before.start.branch_tick = 0;
  EXPECT_EQ(parse_run_file(text, "a/run.json"), before);
}

TEST(RunFile, every_status_has_a_word_that_is_read_back) {
  for (const RunStatus status :
       {RunStatus::running, RunStatus::done, RunStatus::failed, RunStatus::interrupted,
        RunStatus::checkpointed, RunStatus::lost}) {
    RunFile run;
    run.start.status = status;
    EXPECT_EQ(parse_run_file(to_json(run), "").start.status, status) << to_string(status);
  }
}

TEST(RunFile, exit_codes_have_a_status) {
  EXPECT_EQ(status_of(ExitCode::ok), RunStatus::done);
  EXPECT_EQ(status_of(ExitCode::bad_input), RunStatus::failed);
  EXPECT_EQ(status_of(ExitCode::node_lost), RunStatus::lost);
  EXPECT_EQ(status_of(ExitCode::checkpointed), RunStatus::checkpointed);
  EXPECT_EQ(status_of(ExitCode::terminated), RunStatus::interrupted);
}

TEST(RunFile, what_is_wrong_is_named_with_the_file_and_the_field) {
  EXPECT_EQ(message_of("{\"format\":1"),
            "a/run.json: expected an object of JSON, found what is no JSON");
  EXPECT_EQ(message_of("[]"), "a/run.json: expected an object of JSON, found array");
  EXPECT_EQ(message_of("{}"), "a/run.json: \"format\": expected a whole number, found nothing");
  EXPECT_EQ(message_of(changed("\"format\":1", "\"format\":2")),
            "a/run.json: expected format 1, found 2");
  EXPECT_EQ(message_of(changed("\"ticks\":1000000000000", "\"ticks\":1.5")),
            "a/run.json: \"ticks\": expected a whole number, found number");
  EXPECT_EQ(message_of(changed("\"n_nodes\":16", "\"n_nodes\":-1")),
            "a/run.json: \"n_nodes\": expected a whole number, found number");
  EXPECT_EQ(message_of(changed("\"paced\":true", "\"paced\":1")),
            "a/run.json: \"paced\": expected true or false, found number");
  EXPECT_EQ(
      message_of(changed("\"status\":\"running\"", "\"status\":\"runing\"")),
      "a/run.json: \"status\": expected the word for a status, found \"runing\" (did you mean "
      "\"running\"?)");
  EXPECT_EQ(message_of(changed("\"branch_tick\":110", "\"branch_tick\":121")),
            "a/run.json: \"branch_tick\": expected 0 to 120, with which it began, found 121");
  EXPECT_EQ(message_of(changed("\"branch_tick\":110", "\"branch_tic\":110")),
            "a/run.json: \"branch_tick\": expected a whole number, found nothing");
  EXPECT_EQ(message_of(changed("fedcba9876543210", "fedc")),
            "a/run.json: \"file_hash\": expected 16 hexadecimal digits, found \"fedc\"");
  EXPECT_EQ(message_of(changed("\"nodes\":[0,1]", "\"nodes\":[0,\"1\"]")),
            "a/run.json: \"nodes\": expected a whole number, found string");
}

TEST(RunFigures, need_a_checksum) {
  const std::string text =
      R"({"begin":3,"ticks":30,"stopped":true,"wall_s":0.5,"ticks_per_second":60,)"
      R"("waiting_share":0.25,"checksum":"00ff","messages":4,"bytes":5,"epochs":6,)"
      R"("bytes_moved":7,"nodes":[{"node":0,"host":"a","waiting":0.25}],"more":null})";
  const RunFigures figures = parse_figures(text, "f");
  EXPECT_EQ(figures.checksum, "00ff");
  EXPECT_EQ(figures.begin, 3);
  EXPECT_EQ(figures.bytes_moved, 7);
  ASSERT_EQ(figures.nodes.size(), 1U);
  EXPECT_EQ(figures.nodes[0].waiting, 0.25);
  std::string without = text;
  without.replace(without.find("\"checksum\""), 10, "\"chksum\"");
  try {
    (void)parse_figures(without, "f");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "f: \"checksum\": expected a text, found nothing");
  }
}

}  // namespace
}  // namespace rubato::tools
