#include "rubato/tick/app.hpp"

#include <algorithm>
#include <charconv>

namespace rubato::tick {
namespace {

[[noreturn]] void refuse(const std::string& name, std::string_view text,
                         const std::string& expected) {
  throw Error("--" + name + ": expected " + expected + ", found \"" + std::string(text) + "\"",
              ExitCode::usage);
}

template <class T>
void set_number(const std::string& name, T& target, std::string_view text, const char* expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(name, text, expected);
  if constexpr (std::is_floating_point_v<T>) {
    if (!(value - value == 0)) refuse(name, text, "a finite number");
  }
  target = value;
}

// 0.01 and 0.010.
template <class T>
bool are_same_number(std::string_view a, std::string_view b) {
  const auto number = [](std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
  };
  T x{};
  T y{};
  return number(a, x) && number(b, y) && x == y;
}
template <class T>
Parameters::Parameter number(Parameters::Parameter parameter) {
  parameter.are_same = &are_same_number<T>;
  return parameter;
}

std::string shown(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc{} ? std::string(buffer, end) : std::to_string(value);
}

}  // namespace

void Parameters::add(std::string name, std::int64_t& target, std::string help) {
  add(number<std::int64_t>(
      Parameter{name, std::move(help), std::to_string(target),
                [name, &target](auto text) { set_number(name, target, text, "a whole number"); }}));
}
void Parameters::add(std::string name, std::optional<std::int64_t>& target, std::string help) {
  add(number<std::int64_t>(Parameter{name, std::move(help), target ? std::to_string(*target) : "",
                                     [name, &target](auto text) {
                                       std::int64_t value = 0;
                                       set_number(name, value, text, "a whole number");
                                       target = value;
                                     }}));
}
void Parameters::add(std::string name, std::uint64_t& target, std::string help) {
  add(number<std::uint64_t>(Parameter{
      name, std::move(help), std::to_string(target),
      [name, &target](auto text) { set_number(name, target, text, "a whole number >= 0"); }}));
}
void Parameters::add(std::string name, double& target, std::string help) {
  add(number<double>(Parameter{name, std::move(help), shown(target), [name, &target](auto text) {
                                 set_number(name, target, text, "a number");
                               }}));
}
void Parameters::add(std::string name, std::string& target, std::string help) {
  add(Parameter{name, std::move(help), target,
                [&target](auto text) { target = std::string(text); }});
}
void Parameters::add(std::string name, bool& target, std::string help) {
  add(Parameter{name, std::move(help), target ? "true" : "false",
                [name, &target](auto text) {
                  if (text != "true" && text != "false") refuse(name, text, "true or false");
                  target = text == "true";
                },
                true});
}
void Parameters::add(std::string name, std::string& target, std::vector<std::string> choices,
                     std::string help) {
  std::string expected;
  for (const auto& choice : choices)
    expected += (expected.empty() ? "" : ", ") + choice;
  add(Parameter{name, std::move(help) + " (" + expected + ")", target,
                [name, &target, choices, expected](auto text) {
                  if (std::ranges::find(choices, text) == choices.end()) {
                    throw Error("--" + name + ": expected one of " + expected + ", found \"" +
                                    std::string(text) + "\"" + did_you_mean(text, choices),
                                ExitCode::usage);
                  }
                  target = std::string(text);
                }});
}

void Parameters::add(Parameter parameter) {
  parameter.advanced |= advanced_;
  list_.push_back(std::move(parameter));
}

bool Parameters::Parameter::names_file(std::string_view text) const {
  return is_file && !text.empty() && std::ranges::find(no_files, text) == no_files.end();
}

Parameters::Parameter& Parameters::added(const std::string& name) {
  const auto found = std::ranges::find(list_, name, &Parameter::name);
  RUBATO_REQUIRE(found != list_.end(), name);
  return *found;
}

void Parameters::may_change(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    added(name).may_change = true;
}

void Parameters::same_bits(const std::vector<std::string>& names) {
  may_change(names);
  for (const std::string& name : names)
    added(name).same_bits = true;
}

void Parameters::are_files(const std::vector<std::string>& names,
                           const std::vector<std::string>& no_files) {
  for (const std::string& name : names) {
    Parameter& parameter = added(name);
    parameter.is_file = true;
    parameter.no_files = no_files;
  }
}

void Parameters::unread(const std::vector<std::string>& names, std::function<bool()> is_unread,
                        std::string expected) {
  for (const std::string& name : names)
    RUBATO_REQUIRE(has(name), name);
  unread_.push_back({names, std::move(is_unread), std::move(expected)});
}

void Parameters::refuse_unread(const std::vector<std::string>& given) const {
  for (const std::string& name : given) {
    for (const Unread& rule : unread_) {
      if (std::ranges::find(rule.names, name) == rule.names.end() || !rule.is_unread()) continue;
      throw Error("--" + name + ": nothing reads it here; expected " + rule.expected,
                  ExitCode::usage);
    }
  }
}

bool Parameters::has(std::string_view name) const noexcept {
  return std::ranges::find(list_, name, &Parameter::name) != list_.end();
}

void Parameters::set(std::string_view name, std::string_view text) {
  const auto found = std::ranges::find(list_, name, &Parameter::name);
  if (found == list_.end()) {
    std::vector<std::string> names;
    for (const auto& parameter : list_)
      names.push_back(parameter.name);
    throw Error("unknown parameter \"" + std::string(name) + "\"" + did_you_mean(name, names),
                ExitCode::usage);
  }
  found->set(text);
}

}  // namespace rubato::tick
