#include "rubato/flow/interpret/builtin_calls.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "rubato/flow/interpret/dry_run.hpp"
#include "rubato/flow/lines.hpp"
#include "rubato/flow/program/glob.hpp"
#include "rubato/flow/tic/builtins.hpp"

namespace rubato::flow {
namespace {

using tic::BuiltinId;

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// Throws the reason if a member has failed.
Members whole_members(const Ref& container, Environment& environment) {
  Members all = environment.flow().all_members(container);
  const auto has_failed = [](const auto& member) { return member.second.is_failed(); };
  const auto failed = std::ranges::find_if(all, has_failed);
  if (failed == all.end()) return all;
  for (const auto& [key, value] : all) {
    if (value.is_reference()) environment.flow().give_back_reader(value.as_reference());
  }
  throw Error(failed->second.as_text());
}

// Why it cannot be read; "" if it was.
std::string read_all(const std::string& path, std::string& text) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return "cannot read " + path + ": found a folder, expected a file";
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  if (!file) return "cannot read " + path;
  text = all.str();
  return "";
}

class BuiltinCall {
 public:
  BuiltinCall(const tic::CallExpr& call, const std::vector<Value>& values, const Members* computed,
              const Compiled& compiled, Environment& environment)
      : call_(call),
        values_(values),
        computed_(computed),
        compiled_(compiled),
        environment_(environment) {}

  Value run(BuiltinId id) {
    if (id == BuiltinId::split || id == BuiltinId::glob)
      fail("it makes a container, which is no part of an expression");
    if (id <= BuiltinId::to_boolean) return conversion(id);
    if (id <= BuiltinId::tan) return function_of_float(id);
    if (id <= BuiltinId::max) return of_numbers(id);
    if (id <= BuiltinId::lower && id != BuiltinId::join) return of_strings(id);
    if (id <= BuiltinId::glob || id == BuiltinId::join) return of_containers_and_files(id);
    return of_the_run(id);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(place_text(compiled_, call_.place) + ": " + call_.name + "(): " + printable(what));
  }

 private:
  [[nodiscard]] const std::string& text(std::size_t i) const { return values_[i].as_text(); }
  [[nodiscard]] double number(std::size_t i) const { return number_of(values_[i]); }

  template <class T>
  T parsed(const char* what) const {
    const std::string all = trimmed(text(0));
    T x{};
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), x);
    if (error != std::errc() || end != all.data() + all.size() || all.empty()) {
      fail("found \"" + text(0) + "\", expected " + what);
    }
    return x;
  }

  [[nodiscard]] Value conversion(BuiltinId id) const {
    const Value& from = values_[0];
    if (id == BuiltinId::to_string) return Value::text(Kind::string, text_of(from));
    if (id == BuiltinId::to_boolean) {
      if (from.kind() == Kind::boolean) return from;
      if (text(0) != "true" && text(0) != "false")
        fail("found \"" + text(0) + "\", expected true or false");
      return Value::boolean(text(0) == "true");
    }
    if (id == BuiltinId::to_float) {
      return Value::floating(from.kind() == Kind::string ? parsed<double>("a number") : number(0));
    }
    if (from.kind() == Kind::string) return Value::integer(parsed<std::int64_t>("an integer"));
    if (from.kind() == Kind::boolean) return Value::integer(from.as_boolean() ? 1 : 0);
    if (from.kind() == Kind::integer) return from;
    const double x = std::trunc(from.as_floating());
    if (!(x >= -0x1p63 && x < 0x1p63)) fail(text_of(from) + " is no integer of 64 bits");
    return Value::integer(static_cast<std::int64_t>(x));
  }

  [[nodiscard]] Value function_of_float(BuiltinId id) const {
    const double x = number(0);
    switch (id) {
      case BuiltinId::floor:
        return Value::floating(std::floor(x));
      case BuiltinId::ceil:
        return Value::floating(std::ceil(x));
      case BuiltinId::round:
        return Value::floating(std::round(x));
      case BuiltinId::sqrt:
        return Value::floating(std::sqrt(x));
      case BuiltinId::exp:
        return Value::floating(std::exp(x));
      case BuiltinId::log:
        return Value::floating(std::log(x));
      case BuiltinId::sin:
        return Value::floating(std::sin(x));
      case BuiltinId::cos:
        return Value::floating(std::cos(x));
      default:
        return Value::floating(std::tan(x));
    }
  }

  [[nodiscard]] Value of_numbers(BuiltinId id) const {
    const bool of_integers = std::ranges::all_of(
        values_, [](const Value& value) { return value.kind() == Kind::integer; });
    if (id == BuiltinId::abs) {
      if (!of_integers) return Value::floating(std::fabs(number(0)));
      if (values_[0].as_integer() == INT64_MIN) fail("an integer of 64 bits overflows");
      return Value::integer(std::abs(values_[0].as_integer()));
    }
    const auto best = [&](auto get) {
      auto found = get(values_[0]);
      for (const Value& value : values_)
        found = id == BuiltinId::min ? std::min(found, get(value)) : std::max(found, get(value));
      return found;
    };
    if (of_integers) return Value::integer(best([](const Value& v) { return v.as_integer(); }));
    return Value::floating(best([](const Value& v) { return number_of(v); }));
  }

  [[nodiscard]] Value of_strings(BuiltinId id) const {
    const auto make = [](std::string all) { return Value::text(Kind::string, std::move(all)); };
    const std::string& all = text(0);
    if (id == BuiltinId::length) return Value::integer(static_cast<std::int64_t>(all.size()));
    if (id == BuiltinId::substring) return make(substring());
    if (id == BuiltinId::find) {
      const std::size_t at = all.find(text(1));
      return Value::integer(at == std::string::npos ? -1 : static_cast<std::int64_t>(at));
    }
    if (id == BuiltinId::replace) return make(replaced());
    if (id == BuiltinId::trim) return make(trimmed(all));
    std::string changed = all;
    for (char& c : changed) {
      if (id == BuiltinId::upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if (id == BuiltinId::lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return make(std::move(changed));
  }
  [[nodiscard]] std::string substring() const {
    const std::int64_t n = static_cast<std::int64_t>(text(0).size());
    const std::int64_t start = values_[1].as_integer();
    if (start < 0 || start > n) {
      fail("found " + std::to_string(start) + " as the start, expected 0 to " + std::to_string(n));
    }
    const std::int64_t length = values_.size() > 2 ? values_[2].as_integer() : n;
    if (length < 0) fail("found a length of " + std::to_string(length) + ", expected 0 or more");
    return text(0).substr(static_cast<std::size_t>(start), static_cast<std::size_t>(length));
  }
  [[nodiscard]] std::string replaced() const {
    if (text(1).empty()) fail("found an empty text to replace");
    std::string result;
    std::size_t at = 0;
    for (std::size_t next = text(0).find(text(1)); next != std::string::npos;
         next = text(0).find(text(1), at)) {
      result.append(text(0), at, next - at).append(text(2));
      at = next + text(1).size();
    }
    return result.append(text(0), at, std::string::npos);
  }

  Value of_containers_and_files(BuiltinId id) {
    switch (id) {
      case BuiltinId::size:
        if (computed_ != nullptr)
          return Value::integer(static_cast<std::int64_t>(computed_->size()));
        // In a command or an option it may be behind a reference; else it is waited for as a number.
        if (!values_[0].is_reference()) return values_[0];
        return Value::integer(
            static_cast<std::int64_t>(environment_.flow().n_members(values_[0].as_reference())));
      case BuiltinId::contains: {
        const auto is_it = [&](const auto& member) { return member.first == values_[1]; };
        return Value::boolean(computed_ != nullptr ? std::ranges::any_of(*computed_, is_it)
                                                   : environment_.flow().has_member(
                                                         values_[0].as_reference(), values_[1]));
      }
      case BuiltinId::join: {
        std::string joined;
        const Members all = members();
        for (std::size_t i = 0; i < all.size(); ++i)
          joined.append(i > 0 ? text(1) : "").append(text_of(all[i].second));
        return Value::text(Kind::string, std::move(joined));
      }
      case BuiltinId::filename:
        return Value::text(Kind::string, text(0));
      default:
        return Value::text(Kind::string, contents(text(0)));
    }
  }
  // Of the container that is the first argument.
  [[nodiscard]] Members members() {
    if (computed_ != nullptr) return *computed_;
    return whole_members(values_[0].as_reference(), environment_);
  }
  [[nodiscard]] std::string contents(const std::string& path) const {
    if (const DryRun* dry = compiled_.arguments().dry_run; dry != nullptr) {
      const std::string writer = dry->writer_of(path);
      if (!writer.empty()) throw Error(unknown_value(writer).as_text());
    }
    std::string all;
    std::string problem;
    bool is_file = false;
    const auto look = [&] {
      std::error_code ignored;
      is_file = std::filesystem::is_regular_file(path, ignored);
      if (is_file) problem = read_all(path, all);
    };
    environment_.flow().run_beside(look, {core::NativeTime::brief});
    // Nobody may be there yet who writes to a pipe: look-ups do not wait for that.
    if (!is_file) environment_.flow().run_beside([&] { problem = read_all(path, all); }, {});
    if (!problem.empty()) fail(problem);
    return all;
  }

  Value of_the_run(BuiltinId id) {
    const core::JobShape& shape = environment_.flow().core().shape();
    switch (id) {
      case BuiltinId::arg:
        return argument();
      case BuiltinId::n_args:
        return Value::integer(static_cast<std::int64_t>(compiled_.arguments().named.size()));
      case BuiltinId::n_nodes:
        return Value::integer(shape.n_nodes);
      case BuiltinId::n_cores:
        return Value::integer(static_cast<std::int64_t>(shape.n_cores_total()));
      case BuiltinId::closed:
        return Value::done();
      case BuiltinId::assert_that:
        if (!values_[0].as_boolean()) fail(values_.size() > 1 ? text(1) : "it is not so");
        return Value::done();
      default:
        print_line(id == BuiltinId::trace ? "trace " + place_text(compiled_, call_.place) + ":"
                                          : "");
        return Value::done();
    }
  }
  [[nodiscard]] Value argument() const {
    const auto& named = compiled_.arguments().named;
    const auto found = named.find(text(0));
    if (found != named.end()) return Value::text(Kind::string, found->second);
    if (values_.size() > 1) return values_[1];
    std::vector<std::string> names;
    names.reserve(named.size());
    for (const auto& [name, value] : named)
      names.push_back(name);
    fail("the run was given no argument \"" + text(0) + "\"" + did_you_mean(text(0), names));
  }
  void print_line(std::string line) const {
    if (compiled_.arguments().dry_run != nullptr) return;
    for (const Value& value : values_) {
      if (!line.empty() || &value != values_.data()) line += ' ';
      line += text_of(value);
    }
    say_line(environment_.flow().core(), stdout, std::move(line));
  }

  const tic::CallExpr& call_;
  const std::vector<Value>& values_;
  const Members* computed_;  // null: it is behind a reference
  const Compiled& compiled_;
  Environment& environment_;
};

Members numbered(const std::vector<std::string>& texts, Kind kind) {
  Members all;
  all.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    all.emplace_back(Value::integer(static_cast<std::int64_t>(i)), Value::text(kind, texts[i]));
  return all;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  if (separator.empty()) {
    std::istringstream words(text);
    for (std::string word; words >> word;)
      parts.push_back(word);
    return parts;
  }
  std::size_t at = 0;
  for (std::size_t next = text.find(separator); next != std::string::npos;
       next = text.find(separator, at)) {
    parts.push_back(text.substr(at, next - at));
    at = next + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

}  // namespace

Value call_builtin(const tic::CallExpr& call, const std::vector<Value>& values,
                   const Compiled& compiled, Environment& environment, const Members* members) {
  const tic::Builtin& builtin = tic::builtins()[static_cast<std::size_t>(call.builtin)];
  return BuiltinCall(call, values, members, compiled, environment).run(builtin.id);
}

Members evaluate_members(const tic::Expr& e, const Compiled& compiled, Environment& environment) {
  if (const auto* call = e.as<tic::CallExpr>()) {
    const tic::Builtin& builtin = tic::builtins()[static_cast<std::size_t>(call->builtin)];
    std::vector<std::string> values;
    values.reserve(call->arguments.size());
    for (const tic::Expr& argument : call->arguments)
      values.push_back(evaluate(argument, compiled, environment).as_text());
    if (builtin.id == BuiltinId::split) {
      return numbered(split(values[0], values.size() > 1 ? values[1] : ""), Kind::string);
    }
    if (builtin.id == BuiltinId::glob) {
      std::vector<std::string> names;
      environment.flow().run_beside([&] { names = glob(values[0]); }, {core::NativeTime::brief});
      return numbered(names, Kind::file);
    }
  }
  const Value* known = known_value(e, environment);
  if (known != nullptr && known->is_failed()) throw Error(known->as_text());
  if (known != nullptr && known->is_reference()) {
    return whole_members(known->as_reference(), environment);
  }
  throw Error(place_text(compiled, e.place) + ": expected a container");
}

}  // namespace rubato::flow
