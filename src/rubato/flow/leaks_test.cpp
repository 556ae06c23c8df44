// Data that nobody has freed: which they are, where they were made, and when that is a leak.

#include "rubato/base/random.hpp"
#include "rubato/flow/flow_test.hpp"
#include "rubato/flow/interpret/run_script.hpp"
#include "rubato/flow/observe/flow_report.hpp"

namespace rubato::flow {
namespace {

// What a program keeps in a static object: until the process ends, when there are no cores to give
// it back to.
template <class H>
void keep(H handle) {
  static auto* const kept = new std::vector<H>;  // NOLINT(cppcoreguidelines-owning-memory)
  kept->push_back(std::move(handle));
}

struct Lines {
  int futures = 0;
  int container = 0;
  int promise = 0;
};

// Some futures made by tasks all over the cores, a container and a promise are kept; all else is
// given back.
Lines leak(std::int64_t n_futures) {
  for (std::int64_t i = 0; i < n_futures; ++i) {
    async([](std::int64_t n) { keep(async([](std::int64_t x) { return double(x) / 2; })(n)); },
          {.core = static_cast<CoreId>(i) % global::n_cores()})(i);
  }
  const int futures = __LINE__ - 3;
  auto [numbers, insert] = make_container<std::string>();
  const int container = __LINE__ - 1;
  async_for(0, 10, [](std::int64_t i, const Inserter<std::string>& out) {
    out.insert(i * 500, std::to_string(i));
  })(std::move(insert));
  EXPECT_EQ(numbers.size().get(), 10);
  keep(std::move(numbers));
  keep(make_datum<std::int64_t>().promise);
  return {futures, container, __LINE__ - 1};
}

std::string place_of(int line) {
  return std::string(__FILE__) + ":" + std::to_string(line);
}

TEST(Leaks, are_told_with_the_places_that_made_them) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const std::uint64_t n = 2 + seed % 7;
    Lines lines;
    const FlowResult result =
        simulate_flow(seed, [&] { lines = leak(static_cast<std::int64_t>(n)); });
    ASSERT_TRUE(result.is_good()) << result.text();
    ASSERT_EQ(result.n_data_held, n + 2) << "seed " << seed;
    const std::vector<HeldPlace> places = result.held.most_first();
    ASSERT_EQ(places.size(), 3U) << result.leak_text();
    EXPECT_EQ(places[0].text(),
              std::to_string(n) + " futures (float) of " + place_of(lines.futures));
    EXPECT_EQ(places[0].n, n);
    EXPECT_EQ(result.leak_text(),
              std::to_string(n + 2) + " data were not freed: " + places[0].text() +
                  ", 1 container (string, 10 members) of " + place_of(lines.container) +
                  ", 1 future (integer, not set) of " + place_of(lines.promise));
  }
}

// What is held by what leaks is told too: it is there, and goes with it.
TEST(Leaks, hold_what_lies_in_them) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto made = make_container<Future<std::int64_t>>();
      for (std::int64_t i = 0; i < 4; ++i)
        made.inserter.insert(i * 1000, async([](std::int64_t x) { return x; })(i));
      made.inserter = {};
      EXPECT_EQ(made.container.size().get(), 4);
      keep(std::move(made.container));
    });
    ASSERT_EQ(result.n_data_held, 5U) << "seed " << seed;
    const std::vector<HeldPlace> places = result.held.most_first();
    ASSERT_EQ(places.size(), 2U) << result.leak_text();
    EXPECT_EQ(places[0].what + " " + places[0].kind + " " + std::to_string(places[0].n),
              "future integer 4");
    EXPECT_EQ(places[1].what + " " + places[1].kind, "container reference");
    EXPECT_EQ(places[1].n_members, 4U);
  }
}

void work_of_all_kinds(bool fails) {
  auto [words, insert] = make_container<std::string>();
  async_for(0, 50, [](std::int64_t i, const Inserter<std::string>& out) {
    out.insert(i * 300, std::to_string(i));
  })(std::move(insert));
  const auto summed = async_each(words, [](std::int64_t /*key*/, const std::string& /*word*/) {})();
  const auto drawn = async([fails](std::int64_t x) {
    if (fails) throw Error("no luck");
    return x;
  })(5);
  const auto next = async([](std::int64_t x) { return std::to_string(x); })(drawn);
  async_team(1, [](const global::Team& /*team*/, const std::string& text) { return text; })(next);
  summed.get();
}

TEST(Leaks, are_none_in_runs_that_give_all_back_even_if_tasks_fail) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    for (const bool fails : {false, true}) {
      const FlowResult result = simulate_flow(seed, [fails] { work_of_all_kinds(fails); });
      ASSERT_EQ(result.n_failures, fails ? 1U : 0U) << result.text();
      ASSERT_EQ(result.n_data_held, 0U) << "seed " << seed << ": " << result.leak_text();
      ASSERT_TRUE(result.held.most_first().empty());
      ASSERT_EQ(result.leak_text(), "");
    }
  }
}

TEST(Leaks, are_told_beside_what_has_failed) {
  const FlowResult result = simulate_flow(7, [] {
    work_of_all_kinds(true);
    keep(async([]() -> int { throw Error("kept, too"); })());
  });
  EXPECT_EQ(result.n_failures, 2U);
  EXPECT_EQ(result.leak_text().find("1 datum was not freed: 1 future (integer, failed) of "), 0U)
      << result.leak_text();
}

// Rules that wait hold data, whoever is to blame for that.
TEST(Leaks, are_not_told_where_rules_wait_for_ever) {
  for (std::uint64_t seed = 0; seed < n_seeds(30); ++seed) {
    const FlowResult result = simulate_flow(seed, [] {
      auto never = make_datum<int>();
      static_cast<void>(never.promise.take());  // nobody gives it back
      async([](int) { return 1; })(never.future);
    });
    ASSERT_EQ(result.waiting.size(), 1U) << result.text();
    EXPECT_EQ(result.n_data_held, 2U) << "seed " << seed;
    EXPECT_EQ(result.held.most_first().size(), 2U);
    EXPECT_EQ(result.leak_text(), "");
  }
}

TEST(Leaks, name_the_script_whose_data_they_are) {
  FlowResult result;
  global::simulate_seed(2, 1, 3, [&] {
    result = run_script(
        "container<integer, integer> c\ninteger x\nwhen {c[1]} then {x} from {= c[1]}\n"
        "insert c[x] = 1\n",
        "stuck.tic");
  });
  ASSERT_FALSE(result.waiting.empty());
  const std::vector<HeldPlace> places = result.held.most_first();
  ASSERT_EQ(places.size(), 2U);
  for (const HeldPlace& held : places)
    EXPECT_EQ(held.place.find("stuck.tic:"), 0U) << held.text();
}

TEST(Leaks, stand_in_all_reports) {
  const FlowResult result = simulate_flow(2, [] { leak(3); });
  FlowReport report;
  report.add_result(result);
  report.add_result(result);  // a program may run several flows
  io::JsonWriter json;
  json.begin_object();
  report.put(json);
  json.end_object();
  const std::string told = json.text();
  EXPECT_NE(told.find(R"("not_freed":{"number":10,"places":[{"what":"future","kind":"float")"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find(R"("number":6,"members":0)"), std::string::npos) << told;
  EXPECT_NE(told.find(R"("number":2,"members":20)"), std::string::npos) << told;
  const std::string text = report.text({});
  io::HtmlReport page("leaks");
  report.add(page);
  for (const std::string& shown : {text, page.html()}) {
    EXPECT_NE(shown.find("10 data were not freed"), std::string::npos) << shown;
    EXPECT_NE(shown.find("future, not set"), std::string::npos) << shown;
    EXPECT_NE(shown.find("leaks_test.cpp:"), std::string::npos) << shown;
  }
}

// Cores have more places than are carried, in any order: what is told of a place is exact.
TEST(HeldPlaces, count_exactly_what_they_tell_of) {
  constexpr int kMade = 3000;
  constexpr int kParts = 40;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::map<std::string, std::uint64_t> expected;
    std::vector<HeldPlaces> parts(kParts);
    for (int line = 1; line <= kMade; ++line) {
      Datum held;
      held.state = Datum::State::closed;
      held.kind = Kind::integer;
      held.made_at = PortablePlace(SourcePlace{"many.cpp", line});
      const std::uint64_t n = 1 + hash_words(seed, static_cast<std::uint64_t>(line)) % 5;
      for (std::uint64_t i = 0; i < n; ++i)
        parts[hash_words(seed, static_cast<std::uint64_t>(line), i) % kParts].add(held);
      expected[held.made_at.place().text()] = n;
    }
    // In pairs, as along a tree, by way of bytes.
    while (parts.size() > 1) {
      Writer out;
      parts.back().put(out);
      parts.pop_back();
      const Bytes bytes = out.take();
      Reader in(bytes);
      parts[hash_words(seed, parts.size()) % parts.size()].add(HeldPlaces::get(in));
    }
    const std::vector<HeldPlace> places = parts[0].most_first();
    ASSERT_EQ(places.size(), HeldPlaces::kListed);
    for (std::size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(places[i].n, expected.at(places[i].place)) << "seed " << seed;
      ASSERT_GE(places[i == 0 ? 0 : i - 1].n, places[i].n);
    }
    EXPECT_EQ(places[0].n, 5U);
  }
}

}  // namespace
}  // namespace rubato::flow
