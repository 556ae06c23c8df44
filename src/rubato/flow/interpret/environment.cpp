#include "rubato/flow/interpret/environment.hpp"

namespace rubato::flow {

Environment::~Environment() {
  for (auto& [variable, each] : slots_)
    forget(each);
  forget_known();
}

const Slot& Environment::slot(int variable) const {
  static const Slot none;
  const auto found = slots_.find(variable);
  return found == slots_.end() ? none : found->second;
}

void Environment::forget(int variable) {
  const auto found = slots_.find(variable);
  if (found != slots_.end()) forget(found->second);
}

void Environment::forget(Slot& slot) {
  const Slot old = std::exchange(slot, {});
  flow_.give_back_reader(old.reader.ref);
  flow_.give_back_writer(old.writer.ref);
  flow_.give_back_reader(old.named);
  flow_.give_back_writer(old.lease);
}

void Environment::forget_known() {
  const auto all = std::exchange(known, {});
  for (const auto& [expression, value] : all) {
    if (value.is_reference()) flow_.give_back_reader(value.as_reference());
  }
}

void Environment::pack(const CompiledStatement& statement, std::vector<Arg>& to) {
  for (std::size_t i = 0; i < statement.needs.size(); ++i)
    pack_slot(statement.needs[i], statement.writes[i], to);
}

// Four arguments: value, reader, writer, name; and the lease of a file.
void Environment::pack_slot(int variable, bool may_write, std::vector<Arg>& to) {
  Slot& from = slot(variable);
  const auto add_way = [&](Way& way, Arg::Mode mode) {
    Arg arg{mode, flow_.share(way.ref, mode == Arg::Mode::writer), {}, nullptr};
    if (!way.keys.empty()) arg.keys = std::make_unique<Keys>(way.keys);
    to.push_back(std::move(arg));
  };
  to.push_back(packed(from.value));
  add_way(from.reader, Arg::Mode::reader);
  Way none;
  add_way(may_write ? from.writer : none, Arg::Mode::writer);
  to.push_back(pack_name(from));
  if (is_file(variable)) to.push_back(pack_lease(from));
}

Arg Environment::packed(Value value) {
  const Arg::Mode mode = value.is_failed() ? Arg::Mode::reader : Arg::Mode::value;
  return {mode, {}, std::move(value), nullptr};
}

Arg Environment::pack_name(Slot& from) {
  const Arg::Mode mode = from.named.id ? Arg::Mode::reader : Arg::Mode::value;
  return {mode, flow_.share(from.named, false), from.name, nullptr};
}

Arg Environment::pack_lease(Slot& from) {
  return {Arg::Mode::writer, flow_.share(from.lease, true), {}, nullptr};
}

void Environment::unpack(const CompiledStatement& statement, std::span<Arg> args, std::size_t& at) {
  for (const int variable : statement.needs)
    unpack_slot(variable, args, at);
}

void Environment::unpack_slot(int variable, std::span<Arg> args, std::size_t& at) {
  Slot& to = slot(variable);
  const auto take_way = [&](Way& way) {
    Arg& arg = args[at++];
    way.ref = std::exchange(arg.ref, {});
    if (arg.has_keys()) way.keys = *arg.keys;
  };
  to.value = std::move(args[at++].value);
  take_way(to.reader);
  take_way(to.writer);
  to.named = std::exchange(args[at].ref, {});
  to.name = std::move(args[at++].value);
  if (is_file(variable)) to.lease = std::exchange(args[at++].ref, {});
}

}  // namespace rubato::flow
