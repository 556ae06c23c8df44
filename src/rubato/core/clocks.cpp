#include "rubato/core/clocks.hpp"

#include <algorithm>

#include "rubato/base/bytes.hpp"
#include "rubato/base/time.hpp"

namespace rubato::core {
namespace {

constexpr int kTrips = 8;

}  // namespace

// Messages take no less than no time: the clock is ahead by `taken - sent` at most, and by
// `answered - back` at least.
ClockOffset detail::clock_offset(const std::vector<RoundTrip>& trips) {
  RUBATO_REQUIRE(!trips.empty());
  Nanos most = kNever;
  Nanos least = -kNever;
  for (const RoundTrip& trip : trips) {
    most = std::min(most, trip.taken - trip.sent);
    least = std::max(least, trip.answered - trip.back);
  }
  return {least + (most - least) / 2, (most - least + 1) / 2};
}

std::vector<ClockOffset> measure_clocks(NodeHost& host, const std::string& mine) {
  Writer name;
  name.put_string(mine);
  const std::vector<Bytes> names = host.gather(name.take());  // none but at node 0
  const auto has_mine = [&](const Bytes& of) {
    return !Reader(of).get_string().empty() && of == names.front();
  };
  const bool is_one = std::ranges::all_of(names, has_mine);
  Writer decision;
  if (!names.empty()) decision.put(std::uint32_t{is_one ? 1U : 0U});
  if (Reader(host.broadcast(decision.take())).get<std::uint32_t>() != 0)
    return std::vector<ClockOffset>(names.size());
  std::vector<std::vector<detail::RoundTrip>> trips(names.size());
  for (int i = 0; i < kTrips; ++i) {
    const Nanos sent = steady_now();
    static_cast<void>(host.broadcast({}));
    Writer answer;
    answer.put(steady_now());
    answer.put(steady_now());
    const std::vector<Bytes> answers = host.gather(answer.take());
    const Nanos back = steady_now();
    for (std::size_t node = 0; node < answers.size(); ++node) {
      Reader in(answers[node]);
      const auto taken = in.get<Nanos>();
      trips[node].push_back({sent, taken, in.get<Nanos>(), back});
    }
  }
  std::vector<ClockOffset> offsets;
  for (std::size_t node = 0; node < trips.size(); ++node) {
    const bool is_mine = node == 0 || has_mine(names[node]);
    offsets.push_back(is_mine ? ClockOffset{} : detail::clock_offset(trips[node]));
  }
  return offsets;
}

}  // namespace rubato::core
