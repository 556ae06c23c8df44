// What `--resume` takes over beside the state, and what it says of a branch.

#include <cmath>
#include <filesystem>

#include "rubato/tick/checkpoint/manifest.hpp"
#include "rubato/tools/run/resume_test.hpp"

namespace rubato::tools {
namespace {

class ResumeOptions : public Resume {};

// What another program or machine has written: another version of the model is refused, another build
// and another kind of processor are told, since their bits may be others.
TEST_F(ResumeOptions, a_checkpoint_of_another_version_is_refused_and_of_another_build_told) {
  const std::vector<std::string> words = {"heat", "--width", "40", "--height",
                                          "30",   "--ticks", "20"};
  const std::string whole =
      checksum_of(run(words, {"--checkpoint-every", "10", "--checkpoint", folder_}));
  const std::string from = folder_ + "/tick-00000010";
  const tick::Manifest saved = tick::read_manifest(tick::manifest_path(from));
  const std::vector<std::string> resumed = {"heat", "--resume", from};
  EXPECT_EQ(run(resumed).err.find("written by another"), std::string::npos);
  const auto answer_to = [&](auto&& change) {
    tick::Manifest other = saved;
    change(other);
    tick::write_manifest(tick::manifest_path(from), other);
    return run(resumed);
  };
  const Answer version = answer_to([](tick::Manifest& m) { ++m.model_version; });
  EXPECT_EQ(version.code, 3);
  EXPECT_NE(version.err.find(from + ": expected version " + std::to_string(saved.model_version) +
                             " of heat, found " + std::to_string(saved.model_version + 1)),
            std::string::npos)
      << version.err;
  const Answer build = answer_to([](tick::Manifest& m) {
    ++m.build;
    m.program = "rubato 9.9.9 of elsewhere";
  });
  EXPECT_EQ(checksum_of(build), whole);
  EXPECT_NE(build.err.find(from + " was written by another build, rubato 9.9.9 of elsewhere: the "
                                  "bits may differ"),
            std::string::npos)
      << build.err;
  const Answer processor = answer_to([](tick::Manifest& m) { m.instructions ^= 1; });
  EXPECT_EQ(checksum_of(processor), whole);
  EXPECT_NE(processor.err.find("was written by another kind of processor: the bits may differ"),
            std::string::npos)
      << processor.err;
}

TEST_F(ResumeOptions, a_branch_says_so_and_its_energy_is_compared_with_where_it_began) {
  ASSERT_EQ(run({"nbody", "--bodies", "400", "--ticks", "20", "--checkpoint-every", "10",
                 "--checkpoint", folder_})
                .code,
            0);
  const std::vector<std::string> from = {"nbody", "--resume", folder_ + "/tick-00000010", "--ticks",
                                         "40"};
  EXPECT_EQ(run(from).err.find("branch"), std::string::npos);
  const std::vector<std::string> words = with(from, {"--gravity", "0.5"});
  const Answer branch = run(words);
  EXPECT_NE(branch.err.find("a branch of " + folder_ +
                            "/tick-00000010, from tick 10 on: --gravity 0.5 in place of 0.02\n"),
            std::string::npos)
      << branch.err;
  const auto json = json_of(with({"run"}, with(words, {"--simulate", "3"})));
  bool has_energy = false;
  for (const auto& row : json.at("findings")) {
    if (row.at("quantity") != "energy since tick 10") continue;
    has_energy = true;
    // The energy before, with a force 25 times as weak, is another one altogether.
    EXPECT_LT(std::abs(row.at("drift").get<double>()), 1e-3) << row;
  }
  EXPECT_TRUE(has_energy) << json.at("findings");
}

TEST_F(ResumeOptions, a_branch_that_was_saved_and_goes_on_is_the_same_branch) {
  ASSERT_EQ(run({"nbody", "--bodies", "400", "--ticks", "40", "--checkpoint-every", "10",
                 "--checkpoint", folder_ + "/first"})
                .code,
            0);
  // Each has the newest two of its checkpoints.
  const auto from = [&](const std::string& name,
                        const std::string& tick) -> std::vector<std::string> {
    return {"nbody", "--resume", folder_ + "/" + name + "/tick-000000" + tick};
  };
  const auto saved_to = [&](const std::string& name) -> std::vector<std::string> {
    return {"--ticks", "60", "--checkpoint-every", "10", "--checkpoint", folder_ + "/" + name};
  };
  const auto whole = json_of(
      with(with({"run"}, from("first", "30")), with(saved_to("branch"), {"--gravity", "0.5"})));
  ASSERT_EQ(whole.at("findings").at(2).at("quantity"), "energy since tick 30");
  // What goes on says so to what goes on from it.
  const auto expect_the_same = [&](const std::vector<std::string>& words) {
    const auto on = json_of(with({"run"}, words));
    EXPECT_EQ(on.at("findings"), whole.at("findings"));
    EXPECT_EQ(on.at("checksum"), whole.at("checksum"));
  };
  expect_the_same(with(from("branch", "50"), {"--simulate", "3"}));
  EXPECT_EQ(run(from("branch", "50"),
                {"--ticks", "75", "--checkpoint-every", "5", "--checkpoint", folder_ + "/second"})
                .code,
            0);
  const tick::Manifest again =
      tick::read_manifest(tick::manifest_path(folder_ + "/second/tick-00000070"));
  EXPECT_EQ(again.branch_tick, 30);
  // Other parameters once more make another branch.
  const Answer other = run(from("second", "70"), {"--gravity", "0.1"});
  EXPECT_NE(other.out.find("energy since tick 70"), std::string::npos) << other.out;
}

TEST_F(ResumeOptions, goes_on_as_the_run_was_run_unless_others_are_given) {
  const std::vector<std::string> fish = {"fish", "--fish", "600", "--ticks", "40"};
  const std::string whole = checksum_of(run(fish));
  const auto save = [&] {
    EXPECT_EQ(checksum_of(
                  run(fish, {"--simulate", "3", "--policy", "asytick-plb", "--pieces", "16",
                             "--epoch", "7", "--checkpoint-every", "8", "--checkpoint", folder_})),
              whole);
  };
  save();
  const std::string tick = folder_ + "/tick-00000032";
  const auto again = [&](const std::vector<std::string>& more) {
    return json_of(with({"run", "fish", "--resume", tick, "--simulate", "3"}, more));
  };
  const auto same = again({});
  EXPECT_EQ(same.at("system"), "asytick-plb");
  EXPECT_EQ(same.at("pieces"), 16);
  EXPECT_EQ(same.at("epoch"), 7);
  EXPECT_EQ("checksum " + same.at("checksum").get<std::string>() + "\n", whole);
  EXPECT_EQ(again({"--pieces", "36"}).at("pieces"), 36);
  EXPECT_EQ(again({"--epoch", "3"}).at("epoch"), 3);
  const auto other = again({"--policy", "local"});
  EXPECT_EQ(other.at("system"), "");
  EXPECT_EQ(other.at("pieces"), 0);
  EXPECT_EQ(other.at("epoch"), 0);
  // The very checkpoint stays the newest; a folder is gone on in.
  const Answer there = run({"fish", "--resume", tick, "--simulate", "3"});
  EXPECT_NE(there.err.find("going on from " + tick +
                           " as it was run: --policy asytick-plb --pieces "
                           "16 --epoch 7\n"),
            std::string::npos)
      << there.err;
  EXPECT_EQ(there.err.find("checkpoints:"), std::string::npos) << there.err;
  const Answer never = run({"fish", "--resume", folder_, "--simulate", "3", "--ticks", "60",
                            "--checkpoint-every", "never"});
  EXPECT_EQ(never.err.find("checkpoints:"), std::string::npos) << never.err;
  const Answer on = run({"fish", "--resume", folder_, "--simulate", "3", "--ticks", "60"});
  EXPECT_NE(on.err.find(" --epoch 7 --checkpoint-every 8\n"), std::string::npos) << on.err;
  EXPECT_TRUE(fs::exists(folder_ + "/tick-00000056")) << on.err;
}

}  // namespace
}  // namespace rubato::tools
