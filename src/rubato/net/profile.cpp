#include "rubato/net/profile.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "rubato/base/error.hpp"

namespace rubato::net {
namespace {

constexpr double kMicrosMax = 1e9;  // 1000 s
constexpr std::size_t kFileBytesMax = 64 << 20;

std::string_view trim(std::string_view s) {
  const auto first = s.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r\n") - first + 1);
}

std::string quoted(std::string_view s) {
  // A line of a wrong file may be long and binary; people need its beginning.
  std::string out = "\"";
  for (const char c : s.substr(0, 60))
    out += (c >= ' ' && c <= '~') ? c : '?';
  return out + (s.size() > 60 ? "...\"" : "\"");
}

std::string show(double value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

double to_number(std::string_view what, std::string_view text, double low, double high) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !(value >= low && value <= high)) {
    throw Error(std::string(what) + ": expected a number from " + show(low) + " to " + show(high) +
                ", found " + quoted(text));
  }
  return value;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find_first_of(separators);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// The words of a list that is separated by white space.
std::vector<std::string_view> words(std::string_view text) {
  auto parts = split(text, " \t\r\n");
  std::erase_if(parts, [](std::string_view part) { return part.empty(); });
  return parts;
}

template <class E, std::size_t N>
struct Names {
  std::array<std::pair<const char*, E>, N> pairs;

  [[nodiscard]] E value(std::string_view key, std::string_view text) const {
    std::vector<std::string> known;
    for (const auto& [name, v] : pairs) {
      if (text == name) return v;
      known.emplace_back(name);
    }
    std::string all;
    for (const auto& name : known)
      all += (all.empty() ? "" : ", ") + name;
    throw Error(std::string(key) + ": expected one of " + all + ", found " + quoted(text) +
                did_you_mean(text, known));
  }
  [[nodiscard]] const char* name(E value) const {
    for (const auto& [name, v] : pairs) {
      if (v == value) return name;
    }
    return "";
  }
};

constexpr Names<Distribution, 5> kDistributions{{{{"none", Distribution::none},
                                                  {"lognormal", Distribution::lognormal},
                                                  {"pareto", Distribution::pareto},
                                                  {"trace", Distribution::trace},
                                                  {"quantiles", Distribution::quantiles}}}};
constexpr Names<DelayUnit, 3> kUnits{
    {{{"message", DelayUnit::message}, {"packet", DelayUnit::packet}, {"time", DelayUnit::time}}}};
constexpr Names<bool, 4> kBools{{{{"true", true}, {"false", false}, {"1", true}, {"0", false}}}};

// EVERY_MS and FOR_MS, the last two of the fields of a stall.
void read_stall_times(std::string_view key, std::string_view every, std::string_view length,
                      double& every_ms, double& for_ms) {
  every_ms = to_number(key, every, 1e-3, 1e9);
  for_ms = to_number(key, length, 0, 20 * every_ms);  // above that it would hardly ever deliver
}

std::uint32_t to_host(std::string_view key, std::string_view text) {
  const double value = to_number(key, text, 0, 1e6);
  if (value != std::floor(value)) {
    throw Error(std::string(key) + ": expected a host number, found " + quoted(text));
  }
  return static_cast<std::uint32_t>(value);
}

LinkStall to_link_stall(std::string_view key, std::string_view text) {
  const auto fields = split(text, ":");
  if (fields.size() != 4) {
    throw Error(std::string(key) + ": expected FROM:TO:EVERY_MS:FOR_MS, found " + quoted(text));
  }
  LinkStall stall{to_host(key, fields[0]), to_host(key, fields[1]), 0, 0};
  read_stall_times(key, fields[2], fields[3], stall.every_ms, stall.for_ms);
  return stall;
}

HostStall to_host_stall(std::string_view key, std::string_view text) {
  const auto fields = split(text, ":");
  if (fields.size() != 3) {
    throw Error(std::string(key) + ": expected HOST:EVERY_MS:FOR_MS, found " + quoted(text));
  }
  HostStall stall{to_host(key, fields[0]), 0, 0};
  read_stall_times(key, fields[1], fields[2], stall.every_ms, stall.for_ms);
  return stall;
}

std::vector<double> to_delays(std::string_view key, std::string_view text) {
  std::vector<double> delays;
  for (const auto word : words(text))
    delays.push_back(to_number(key, word, 0, kMicrosMax));
  if (delays.empty()) throw Error(std::string(key) + ": expected delays in us, found none");
  return delays;
}

std::vector<Quantile> to_quantiles(std::string_view key, std::string_view text) {
  std::vector<Quantile> points;
  for (const auto word : words(text)) {
    const auto fields = split(word, ":");
    if (fields.size() != 2) {
      throw Error(std::string(key) + ": expected PROBABILITY:US, found " + quoted(word));
    }
    const Quantile point{to_number(key, fields[0], 0, 1), to_number(key, fields[1], 0, kMicrosMax)};
    if (!points.empty() && (point.probability <= points.back().probability ||
                            point.delay_us < points.back().delay_us)) {
      throw Error(std::string(key) + ": expected ascending points, found " + quoted(word) +
                  " after " + show(points.back().probability) + ":" + show(points.back().delay_us));
    }
    points.push_back(point);
  }
  if (points.empty()) throw Error(std::string(key) + ": expected PROBABILITY:US, found nothing");
  return points;
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error(path + ": cannot be read: Is a directory");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path + ": cannot be read");
  std::string text(kFileBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kFileBytesMax) {
    throw Error(path + ": expected at most " + std::to_string(kFileBytesMax) + " bytes");
  }
  return text;
}

std::vector<double> read_trace(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<double> delays;
  std::size_t number = 0;
  for (const auto line : split(text, "\n")) {
    ++number;
    if (trim(line).empty()) continue;
    delays.push_back(to_number(path + ": line " + std::to_string(number) + ": one-way delay in us",
                               line, 0, kMicrosMax));
  }
  if (delays.empty()) throw Error(path + ": expected one delay in us a line, found none");
  return delays;
}

// The fields that are plain numbers, with their limits.
struct NumberKey {
  const char* key;
  double Profile::*field;
  double low;
  double high;
};
constexpr std::array kNumbers = {
    NumberKey{"base", &Profile::base_us, 0, kMicrosMax},
    NumberKey{"median", &Profile::median_us, 0, kMicrosMax},
    NumberKey{"sigma", &Profile::sigma, 0, 10},
    NumberKey{"alpha", &Profile::alpha, 0.01, 1000},
    NumberKey{"cap", &Profile::cap_us, 0, kMicrosMax},
    NumberKey{"spike-prob", &Profile::spike_prob, 0, 1},
    NumberKey{"spike-lo", &Profile::spike_lo_us, 1e-3, kMicrosMax},
    NumberKey{"spike-hi", &Profile::spike_hi_us, 1e-3, kMicrosMax},
    NumberKey{"rate", &Profile::rate_mbit, 0, 1e9},
    NumberKey{"span", &Profile::span_us, 1, kMicrosMax},
};

// What a name presets. Round trips: const 0.5 ms; ec2-large median about 0.4 ms, 2 % of them hit by
// 5..30 ms; ec2-small a poor average and a high variance (figure 1 of [Ticks]).
struct Preset {
  const char* name;
  void (*apply)(Profile&);
};
constexpr std::array kPresets = {
    Preset{"none", [](Profile&) {}},
    Preset{"const", [](Profile& p) { p.base_us = 250; }},
    Preset{"lognormal",
           [](Profile& p) {
             p.distribution = Distribution::lognormal;
             p.base_us = 50, p.median_us = 150, p.sigma = 0.6;
           }},
    Preset{"pareto",
           [](Profile& p) {
             p.distribution = Distribution::pareto;
             p.base_us = 100, p.median_us = 100, p.alpha = 1.5, p.cap_us = 50000;
           }},
    Preset{"ec2-large",
           [](Profile& p) {
             p.distribution = Distribution::lognormal;
             p.base_us = 100, p.median_us = 80, p.sigma = 0.5;
             p.spike_prob = 0.01, p.spike_lo_us = 5000, p.spike_hi_us = 30000;
           }},
    Preset{"ec2-small",
           [](Profile& p) {
             p.distribution = Distribution::lognormal;
             p.base_us = 200, p.median_us = 600, p.sigma = 1.0;
             p.spike_prob = 0.03, p.spike_lo_us = 5000, p.spike_hi_us = 60000;
           }},
};

Profile parse_text(std::string_view text, std::string_view source, bool in_file);

bool names_profile_file(std::string_view word) {
  return word.starts_with("file:") || word.find('/') != std::string_view::npos ||
         word.ends_with(".profile");
}

Profile named(std::string_view word, bool in_file) {
  if (word.starts_with("trace:")) {
    Profile p;
    p.name = word;
    p.distribution = Distribution::trace;
    p.trace_us = read_trace(std::string(word.substr(6)));
    return p;
  }
  if (names_profile_file(word)) {
    // A file that named itself would never end.
    if (in_file) throw Error("expected no other profile file within a file, found " + quoted(word));
    return load_profile(std::string(word.substr(word.starts_with("file:") ? 5 : 0)));
  }
  for (const Preset& preset : kPresets) {
    if (word == preset.name) {
      Profile p;
      p.name = word;
      preset.apply(p);
      return p;
    }
  }
  std::string all;
  for (const auto& name : profile_names())
    all += name + ", ";
  throw Error("unknown profile " + quoted(word) + did_you_mean(word, profile_names()) +
              "; expected one of " + all + "trace:FILE, file:FILE");
}

void check_whole(const Profile& p) {
  if (p.spike_lo_us > p.spike_hi_us) {
    throw Error("expected spike-lo <= spike-hi, found " + show(p.spike_lo_us) + " and " +
                show(p.spike_hi_us));
  }
  if (p.distribution == Distribution::trace && p.trace_us.empty()) {
    throw Error("distribution=trace: expected delays=US US ..., found none");
  }
  if (p.distribution == Distribution::quantiles && p.quantiles.empty()) {
    throw Error("distribution=quantiles: expected quantiles=PROBABILITY:US ..., found none");
  }
}

void apply_setting(Profile& profile, std::string_view setting, bool is_first, bool in_file) {
  const auto equals = setting.find('=');
  const std::string_view key = trim(setting.substr(0, equals));
  const bool is_name = equals == std::string_view::npos;
  if (!is_name && key != "profile") {
    set_profile_value(profile, key, trim(setting.substr(equals + 1)));
    return;
  }
  const std::string_view word = is_name ? setting : trim(setting.substr(equals + 1));
  if (!is_first) {
    throw Error("expected KEY=VALUE after the first setting, found " + quoted(setting));
  }
  profile = named(word, in_file);
}

// The error of a setting with its place. What people type themselves is their usage; what a file
// holds, or that it cannot be read, is bad input.
Error placed(const Error& error, std::string_view source, std::string_view setting) {
  const auto equals = setting.find('=');
  const bool is_name =
      equals == std::string_view::npos || trim(setting.substr(0, equals)) == "profile";
  const std::string_view word =
      equals == std::string_view::npos ? setting : trim(setting.substr(equals + 1));
  const bool of_file = is_name && (word.starts_with("trace:") || names_profile_file(word));
  return Error(error.in(source).what(), of_file ? ExitCode::bad_input : ExitCode::usage);
}

Profile parse_text(std::string_view text, std::string_view source, bool in_file) {
  Profile profile;
  bool is_first = true;
  std::size_t number = 0;
  for (const auto line : split(text, "\n")) {
    ++number;
    for (const auto part : split(line.substr(0, line.find('#')), ",")) {
      const auto setting = trim(part);
      if (setting.empty()) continue;
      try {
        apply_setting(profile, setting, is_first, in_file);
      } catch (const Error& e) {
        if (!in_file) throw placed(e, source, setting);
        throw e.in(std::string(source) + ": line " + std::to_string(number));
      }
      is_first = false;
    }
  }
  const ExitCode code = in_file ? ExitCode::bad_input : ExitCode::usage;
  if (is_first) throw Error(std::string(source) + ": expected a profile, found nothing", code);
  try {
    check_whole(profile);
  } catch (const Error& e) {
    throw Error(e.in(source).what(), code);
  }
  return profile;
}

}  // namespace

bool Profile::is_idle() const noexcept {
  const bool random = distribution == Distribution::trace ||
                      distribution == Distribution::quantiles ||
                      (distribution != Distribution::none && median_us > 0);
  return base_us <= 0 && !random && spike_prob <= 0 && rate_mbit <= 0 && link_stalls.empty() &&
         host_stalls.empty();
}

const std::vector<std::string>& profile_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    all.reserve(kPresets.size());
    for (const Preset& preset : kPresets)
      all.emplace_back(preset.name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& profile_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    all.reserve(kNumbers.size() + 9);
    for (const NumberKey& number : kNumbers)
      all.emplace_back(number.key);
    for (const char* other : {"ack-spikes", "unit", "packet-bytes", "stall", "host-stall", "name",
                              "distribution", "delays", "quantiles"}) {
      all.emplace_back(other);
    }
    return all;
  }();
  return keys;
}

std::string_view profile_key_meaning(std::string_view key) {
  struct Meaning {
    std::string_view key;
    std::string_view text;
  };
  static constexpr std::array kMeanings = {
      Meaning{"base", "us: the constant part of a delay"},
      Meaning{"median", "us: median of the random part; 0 is none"},
      Meaning{"sigma", "shape of the lognormal distribution"},
      Meaning{"alpha", "tail index of the pareto distribution"},
      Meaning{"cap", "us: upper limit of the random part"},
      Meaning{"spike-prob", "probability of a spike, in [0, 1]"},
      Meaning{"spike-lo", "us: the shortest spike"},
      Meaning{"spike-hi", "us: the longest spike; lengths are log-uniform"},
      Meaning{"rate", "Mbit/s that leave a host; 0 is unlimited"},
      Meaning{"span", "us: the span of unit=time"},
      Meaning{"ack-spikes", "true: packets without payload have spikes too (the lab alone)"},
      Meaning{"unit", "what draws one delay: message, packet or time"},
      Meaning{"packet-bytes", "bytes of a packet of unit=packet"},
      Meaning{
          "stall",
          "FROM:TO:EVERY:FOR: that link delivers nothing for FOR ms, every EVERY ms on average; "
          "hosts count from 1, 0 is any; may be given several times"},
      Meaning{"host-stall", "HOST:EVERY:FOR: the same for all links of a host at once"},
      Meaning{"name", "for people"},
      Meaning{"distribution", "of the random part: none, lognormal, pareto, trace or quantiles"},
      Meaning{"delays", "us: the values of a trace, separated by spaces"},
      Meaning{"quantiles", "PROBABILITY:US, separated by spaces, ascending in both"},
  };
  const auto* const at = std::find_if(kMeanings.begin(), kMeanings.end(),
                                      [&](const Meaning& m) { return m.key == key; });
  return at == kMeanings.end() ? std::string_view() : at->text;
}

void set_profile_value(Profile& profile, std::string_view key, std::string_view value) {
  for (const NumberKey& number : kNumbers) {
    if (key != number.key) continue;
    profile.*number.field = to_number(key, value, number.low, number.high);
    if (key == "median" && profile.distribution == Distribution::none) {
      profile.distribution = Distribution::lognormal;
    }
    return;
  }
  if (key == "ack-spikes") {
    profile.ack_spikes = kBools.value(key, value);
  } else if (key == "unit") {
    profile.unit = kUnits.value(key, value);
  } else if (key == "packet-bytes") {
    const double n_bytes = to_number(key, value, 64, 1e9);
    if (n_bytes != std::floor(n_bytes)) {
      throw Error(std::string(key) + ": expected a whole number, found " + quoted(value));
    }
    profile.packet_bytes = static_cast<std::uint32_t>(n_bytes);
  } else if (key == "stall") {
    profile.link_stalls.push_back(to_link_stall(key, value));
  } else if (key == "host-stall") {
    profile.host_stalls.push_back(to_host_stall(key, value));
  } else if (key == "name") {
    profile.name = value;
  } else if (key == "distribution") {
    profile.distribution = kDistributions.value(key, value);
  } else if (key == "delays") {
    profile.trace_us = to_delays(key, value);
  } else if (key == "quantiles") {
    profile.quantiles = to_quantiles(key, value);
  } else {
    throw Error("unknown key " + quoted(key) + " of a latency profile" +
                did_you_mean(key, profile_keys()));
  }
}

Profile parse_profile(std::string_view text, std::string_view source) {
  return parse_text(text, source, false);
}

Profile load_profile(const std::string& path) {
  return parse_text(read_file(path), path, true);
}

std::string to_text(const Profile& p) {
  std::ostringstream out;
  // The distribution stands before the numbers: `median` alone would choose one.
  out << "name = " << p.name << "\ndistribution = " << kDistributions.name(p.distribution) << '\n';
  const Profile defaults;
  for (const NumberKey& number : kNumbers) {
    if (p.*number.field == defaults.*number.field) continue;
    out << number.key << " = " << show(p.*number.field) << '\n';
  }
  if (p.ack_spikes) out << "ack-spikes = true\n";
  if (p.unit != defaults.unit) out << "unit = " << kUnits.name(p.unit) << '\n';
  if (p.packet_bytes != defaults.packet_bytes) out << "packet-bytes = " << p.packet_bytes << '\n';
  for (const LinkStall& s : p.link_stalls) {
    out << "stall = " << s.from << ':' << s.to << ':' << show(s.every_ms) << ':' << show(s.for_ms)
        << '\n';
  }
  for (const HostStall& s : p.host_stalls) {
    out << "host-stall = " << s.host << ':' << show(s.every_ms) << ':' << show(s.for_ms) << '\n';
  }
  if (!p.trace_us.empty()) {
    out << "delays =";
    for (const double us : p.trace_us)
      out << ' ' << show(us);
    out << '\n';
  }
  if (!p.quantiles.empty()) {
    out << "quantiles =";
    for (const Quantile& q : p.quantiles)
      out << ' ' << show(q.probability) << ':' << show(q.delay_us);
    out << '\n';
  }
  return out.str();
}

Profile profile_from_round_trips(std::vector<Nanos> round_trips, std::string name) {
  if (round_trips.size() < 10) {
    throw Error("a latency profile: expected at least 10 round trips, found " +
                std::to_string(round_trips.size()));
  }
  std::sort(round_trips.begin(), round_trips.end());
  if (round_trips.front() <= 0) {
    throw Error("a latency profile: expected round trips above 0 ns, found " +
                std::to_string(round_trips.front()));
  }
  const auto at = [&](double p) {
    const auto last = static_cast<double>(round_trips.size() - 1);
    return static_cast<double>(round_trips[static_cast<std::size_t>(std::lround(p * last))]) * 1e-3;
  };
  Profile profile;
  // What the text form gives a meaning may not stand in a name.
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c == ',' || c == '#'; }, '-');
  profile.name = std::move(name);
  profile.distribution = Distribution::quantiles;
  const double median = at(0.5);
  auto& points = profile.quantiles;
  const auto add = [&](double p, double us) {
    if (points.empty()) {
      points.push_back({p, us});
    } else if (p > points.back().probability) {
      points.push_back({p, std::max(us, points.back().delay_us)});
    }
  };
  double last_body = 0;  // the last round trip that was halved
  for (const double p : {0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99,
                         0.995, 0.998, 0.999, 0.9995, 1.0}) {
    const double us = at(p);
    if (us <= 2 * median) {
      add(p, us / 2);
      last_body = p;
      continue;
    }
    // Where the body ends, spikes of this way begin: at half their probability.
    if (last_body >= 0.5) add(1 - (1 - last_body) / 2, at(last_body) - median / 2);
    last_body = 0;
    add(1 - (1 - p) / 2, us - median / 2);
  }
  return profile;
}

}  // namespace rubato::net
