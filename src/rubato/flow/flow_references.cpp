// References: their weight, which is given back, shared, and asked for when it is used up.

#include "rubato/flow/flow.hpp"
#include "rubato/flow/records.hpp"

namespace rubato::flow {

void Flow::give_back_reader(Ref reader) {
  if (reader.weight == 0) return;
  if (is_here(reader.id)) {
    give_back_reader_here(reader);
  } else if (reader.id.is_spread()) {
    homeward_.add(reader.id, Homeward::What::readers, reader.weight, 0);
  } else {
    here_.post(reader.id.home(), GiveBackReader{reader});
  }
}

void Flow::give_back_reader_here(Ref reader) {
  Datum& mine = datum(reader.id);
  RUBATO_ASSERT(mine.readers >= reader.weight, mine.readers, reader.weight);
  mine.readers -= reader.weight;
  free_if_unused(reader.id, mine);
}

void Flow::give_back_writer(Ref writer, const Value* failure, FailedPart part) {
  if (writer.weight == 0) return;
  if (is_here(writer.id)) {
    give_back_writer_here(writer, failure, part);
  } else if (failure == nullptr && writer.id.is_spread()) {
    homeward_.add(writer.id, Homeward::What::writers, writer.weight, 0);
  } else if (failure == nullptr) {
    here_.post(writer.id.home(), GiveBackWriter{writer});
  } else {
    Writer out;
    failure->put(out);
    here_.post(writer.id.home(), FailWriter{writer, part}, out.view());
  }
}

Ref Flow::share(Ref& ref, bool is_writer) {
  if (!ref.id) return {};
  std::uint64_t part = weight_for_copy(ref.weight);
  if (part == 0) {
    mint(ref, is_writer, kMinted);
    part = weight_for_copy(ref.weight);
  }
  ref.weight -= part;
  return {ref.id, part};
}

void Flow::make_wide(Ref& ref, bool is_writer, std::uint64_t least) {
  if (ref.id && ref.weight < least) mint(ref, is_writer, std::max(least, kMinted));
}

void Flow::mint(Ref& ref, bool is_writer, std::uint64_t weight) {
  if (is_here(ref.id)) {
    mint_here(ref.id, is_writer, weight);
    ref.weight += weight;
    return;
  }
  here_.check_may_block();
  core::Worker& waiter = here_.tasks().running();
  bool is_there = false;
  // Others may use the reference meanwhile.
  widen({ref.id, 0}, is_writer, weight, [&](Ref more) {
    ref.weight += more.weight;
    is_there = true;
    here_.tasks().wake(waiter);
  });
  while (!is_there)
    here_.tasks().suspend("more weight for a reference");
}

void Flow::widen(Ref ref, bool is_writer, std::uint64_t weight, std::function<void(Ref)> then) {
  const std::uint64_t ticket = n_tickets_++;
  widening_[ticket] = {ref, std::move(then)};
  here_.post(ref.id.home(), Mint{ref.id, weight, is_writer, ticket});
}

void Flow::end_widening(std::uint64_t ticket, std::uint64_t weight) {
  Widening done = std::move(widening_.extract(ticket).mapped());
  done.ref.weight += weight;
  done.then(done.ref);
}

Ref Flow::share_stored(Value& stored, DataId of, const Value* key) {
  Ref all = stored.as_reference();
  const Ref part = share(all, false);
  if (all.weight < stored_least_ && !is_here(all.id) &&
      stored_that_ask_.insert(all.id.word).second) {
    // A part of it goes along, so that there is something to add to.
    --all.weight;
    const auto then = [this, of, is_member = key != nullptr,
                       name = key != nullptr ? *key : Value()](Ref more) {
      stored_that_ask_.erase(more.id.word);
      add_to_stored(of, is_member ? &name : nullptr, more);
    };
    const CoreContext::InPlace inside(here_);  // others share it, too
    widen({all.id, 1}, false, kMinted, then);
  }
  stored = Value::reference(all);
  return part;
}

// To what is stored, if it still is.
void Flow::add_to_stored(DataId of, const Value* key, Ref more) {
  Value* stored = nullptr;
  if (key == nullptr) {
    stored = &datum(of).value;
  } else if (const auto found = shards_.find(of.word); found != shards_.end()) {
    const std::optional<Value> member = found->second->find(*key);
    if (member && member->is_reference()) stored = found->second->stored(*key);
  }
  if (stored == nullptr || !stored->is_reference() || !(stored->as_reference().id == more.id))
    return give_back_reader(more);
  *stored = Value::reference({more.id, stored->as_reference().weight + more.weight});
}

void Flow::mint_here(DataId id, bool is_writer, std::uint64_t weight) {
  Datum& mine = datum(id);
  std::uint64_t& out = is_writer ? mine.writers : mine.readers;
  RUBATO_REQUIRE(out + weight > out, out, weight);
  out += weight;
}

}  // namespace rubato::flow
