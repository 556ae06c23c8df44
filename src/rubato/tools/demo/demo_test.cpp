#include "rubato/tools/demo/demo.hpp"

#include <filesystem>

#include "rubato/io/image.hpp"
#include "rubato/tools/run/program_test.hpp"

namespace rubato::tools {
namespace {

TEST(Demo, ShowsTheSchoolIfThereIsOne) {
  EXPECT_EQ(demo_scene({"heat", "fish"}, false).model, "fish");
  EXPECT_EQ(demo_scene({"heat"}, false).model, "heat");
  EXPECT_EQ(demo_scene({"life"}, true).model, "life");
}

TEST(DemoCommand, LeavesAPictureAndAReportThatHoldsIt) {
  const std::string folder = scratch("demo");
  const Answer answer = call({"demo", "--quick", "--output", folder});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_NE(answer.out.find("replicate(3,5)+schedule(10)"), std::string::npos) << answer.out;
  EXPECT_NE(answer.err.find("ended with the same bits"), std::string::npos) << answer.err;
  EXPECT_NE(answer.err.find("rubato compare fish"), std::string::npos) << answer.err;
  EXPECT_GT(io::read_image_info(folder + "/fish.png").width, 100U);
  std::ostringstream report;
  report << std::ifstream(folder + "/report.html").rdbuf();
  for (const char* text : {"data:image/png;base64,", "<svg", "schedule(10)", "same bits"}) {
    EXPECT_NE(report.str().find(text), std::string::npos) << text;
  }
  std::size_t n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++n_files;
  }
  EXPECT_EQ(n_files, 2U) << "nothing half-written is left";
  std::filesystem::remove_all(folder);
}

TEST(DemoCommand, SaysWhyItCannotWrite) {
  const Answer answer = call({"demo", "--quick", "--output", "/proc/no/such"});
  EXPECT_EQ(answer.code, 3);
  EXPECT_NE(answer.err.find("/proc/no/such"), std::string::npos) << answer.err;
}

}  // namespace
}  // namespace rubato::tools
