#pragma once
// Profile: how late a network is. One definition for the simulator (sim.hpp), the delaying wrapper
// (delay.hpp) and the lab, so that a figure from one can be held against the others. What a profile
// means for a single packet stands in latency.hpp.
//
// The one-way delay of a unit (a message, a packet, or all that is sent within a span of time) is
//   base + random part + spike, then pushed out of stalls, never before its predecessor there.
// Text form, the same on the command line, in RUBATO_PROFILE and in files:
//   text    = setting { ("," | newline) setting }        "#" starts a comment up to the line's end
//   setting = NAME | "trace:" FILE | "file:" FILE | key "=" value
//   example: ec2-large, spike-prob=0.02, stall=0:0:200:14
// A name (or `profile=NAME`) presets everything, so it comes first. A word with a slash, or one
// that ends in ".profile", is a FILE too. The keys are listed by profile_keys() and explained at
// the fields.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rubato/base/time.hpp"

namespace rubato::net {

// The random part of a delay.
enum class Distribution : std::uint8_t {
  none,
  lognormal,  // median_us, sigma, cut at cap_us
  pareto,     // median_us, tail index alpha, cut at cap_us
  trace,      // trace_us in turn; each link starts at a place of its own
  quantiles,  // measured: geometric interpolation between `quantiles`
};

// What draws one delay. `packet` punishes long messages, `message` many messages, `time` neither.
enum class DelayUnit : std::uint8_t { message, packet, time };

// Link from -> to delivers nothing during for_ms, at exponentially distributed gaps of mean
// every_ms; each link has random times of its own. Hosts count from 1, 0 means any. Text:
// I:J:EVERY_MS:FOR_MS.
struct LinkStall {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double every_ms = 0;
  double for_ms = 0;
  bool operator==(const LinkStall&) const = default;
};

// The same for all links to and from a host at the same instants: a virtual machine that is not
// scheduled. Text: I:EVERY_MS:FOR_MS.
struct HostStall {
  std::uint32_t host = 0;
  double every_ms = 0;
  double for_ms = 0;
  bool operator==(const HostStall&) const = default;
};

struct Quantile {
  double probability = 0;
  double delay_us = 0;
  bool operator==(const Quantile&) const = default;
};

struct Profile {
  std::string name = "none";                       // name: for people, has no effect
  Distribution distribution = Distribution::none;  // distribution
  double base_us = 0;                              // base: the constant part of the delay
  double median_us = 0;                            // median of the random part; 0 is none
  double sigma = 0.25;                             // sigma: lognormal shape
  double alpha = 1.5;                              // alpha: pareto tail index
  double cap_us = 1e6;                             // cap: upper limit of the random part
  double spike_prob = 0;                           // spike-prob: probability of a spike
  double spike_lo_us = 5000;                       // spike-lo, spike-hi: its length, log-uniform
  double spike_hi_us = 30000;
  bool ack_spikes = false;  // ack-spikes: packets without payload are hit too (the lab alone)
  double rate_mbit = 0;     // rate: egress of a host, shared by its links; 0 is unlimited
  DelayUnit unit = DelayUnit::message;  // unit: message, packet or time
  std::uint32_t packet_bytes = 65000;   // packet-bytes: used by unit=packet
  double span_us = 1000;                // span: used by unit=time
  std::vector<LinkStall> link_stalls;   // stall, may be given several times
  std::vector<HostStall> host_stalls;   // host-stall, may be given several times
  std::vector<double> trace_us;         // delays: the values of a trace, separated by spaces
  std::vector<Quantile> quantiles;      // quantiles: PROBABILITY:US, ascending in both

  bool operator==(const Profile&) const = default;

  // True if nothing is ever held back.
  [[nodiscard]] bool is_idle() const noexcept;
};

// none, const, lognormal, pareto, ec2-large, ec2-small.
[[nodiscard]] const std::vector<std::string>& profile_names();
// base, median, sigma, ...: the keys of the text form, and options of the same names of commands.
[[nodiscard]] const std::vector<std::string>& profile_keys();

// What a key of the text form means, with its unit, in a line for people.
[[nodiscard]] std::string_view profile_key_meaning(std::string_view key);

// The profile that `text` describes; reads the files that it names. `source` stands in front of
// errors. Throws Error with the line, what was expected and the nearest name: bad input if a file
// is at fault, else usage.
[[nodiscard]] Profile parse_profile(std::string_view text, std::string_view source = "profile");

// The profile of a file in the text form; throws Error as above, or if it cannot be read.
[[nodiscard]] Profile load_profile(const std::string& path);

// Changes one value, as `key=value` does in the text. Throws Error.
void set_profile_value(Profile& profile, std::string_view key, std::string_view value);

// A text form that parse_profile() reads back to an equal profile.
[[nodiscard]] std::string to_text(const Profile& profile);

// An empirical one-way profile from measured round trips (their quantiles are what a person can
// check; one-way delays cannot be measured without a common clock). Round trips up to twice the
// median are halved; a longer one is a spike that hit one of the two ways: full excess, half the
// probability. Throws Error if fewer than 10 samples are given, or one is not positive.
[[nodiscard]] Profile profile_from_round_trips(std::vector<Nanos> round_trips, std::string name);

}  // namespace rubato::net
