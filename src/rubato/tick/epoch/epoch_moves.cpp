// What moves between two segments of an EpochEngine: fragments that go out, regions that begin.

#include <algorithm>

#include "rubato/tick/epoch/epoch_engine.hpp"

namespace rubato::tick {

using detail::MessageHeader;
using detail::MessageType;

namespace {

// In front of each fragment of MessageType::moved; 16 bytes.
struct FragmentHeader {
  std::uint32_t number = 0;  // in Handover::Send::regions
  std::uint32_t zero = 0;
  std::uint64_t n_bytes = 0;
};

}  // namespace

std::size_t EpochEngine::state_bytes() const {
  std::size_t n = 0;
  for (const auto& leg : legs_)
    n += leg->flow().state_bytes();
  return n;
}

bool EpochEngine::is_moving() const {
  return std::ranges::any_of(
      legs_, [](const auto& leg) { return leg->outgoing_left != 0 || leg->incoming_left != 0; });
}

// The fragments of an old region may be packed.
void EpochEngine::old_region_ready(Leg& leg, RegionId region) {
  for (std::size_t i = 0; i < leg.outgoing.size(); ++i) {
    if (std::ranges::binary_search(leg.handover->sends()[i].regions, region))
      leg.outgoing[i].ready.push_back(region);
  }
}

void EpochEngine::take_moved(NodeId from, Bytes bytes) {
  const auto memory = std::make_shared<const Bytes>(std::move(bytes));
  Reader in(*memory);
  const auto header = in.get<MessageHeader>();
  Leg* leg = leg_of(header.tick + 1);
  if (leg == nullptr || leg->flow().begin() != header.tick) return;  // the run ends before it
  const auto& receives = leg->handover->receives();
  const auto at = std::ranges::lower_bound(receives, from, {}, &Handover::Receive::from);
  RUBATO_ASSERT(at != receives.end() && at->from == from, self_, from, header.tick);
  for (std::uint32_t i = 0; i < header.detail; ++i) {
    const auto fragment = in.get<FragmentHeader>();
    const ByteView view = in.get_view(fragment.n_bytes);
    RUBATO_ASSERT(fragment.number < at->readers.size(), from, fragment.number, header.tick);
    for (const RegionId region : at->readers[fragment.number]) {
      Incoming& incoming = leg->incoming[region];
      incoming.fragments.push_back({memory, view});
      if (--incoming.missing == 0) leg->complete.push_back(region);
    }
  }
}

bool EpochEngine::take_pack(Leg& leg, bool idle, core::Work& work) {
  for (std::size_t i = 0; i < leg.outgoing.size(); ++i) {
    Outgoing& out = leg.outgoing[i];
    if (out.ready.empty() || out.packing) continue;
    // Others may have nothing else to do: they get what there is, in a few messages.
    const Handover::Send& send = leg.handover->sends()[i];
    const bool due = out.ready.size() == out.left ||
                     (send.to != self_ && 8 * out.ready.size() >= send.regions.size());
    if (!due && !idle) continue;
    Job& job = new_job(Step::pack, leg);
    job.i = i;
    job.regions.swap(out.ready);
    out.packing = true;
    work = {move_state, static_cast<std::uint32_t>(job.step), leg.flow().begin(), &job};
    return true;
  }
  return false;
}

void EpochEngine::pack(Job& job) {
  const Leg& leg = *job.leg;
  std::ranges::sort(job.regions);
  Writer out;
  out.put(MessageHeader{MessageType::moved, static_cast<std::uint32_t>(job.regions.size()),
                        leg.node->engine().begin()});
  const auto& all = leg.handover->sends()[job.i].regions;
  for (const RegionId region : job.regions) {
    Writer fragment;
    leg.handover->pack(job.i, region, fragment);
    const Bytes bytes = fragment.take();
    const auto number = std::ranges::lower_bound(all, region) - all.begin();
    out.put(FragmentHeader{static_cast<std::uint32_t>(number), 0, bytes.size()});
    out.append(bytes.data(), bytes.size());
  }
  job.bytes = out.take();
  job.n_bytes = job.bytes.size();
}

void EpochEngine::packed(core::Port& port, Job& job) {
  Leg& leg = *job.leg;
  Outgoing& out = leg.outgoing[job.i];
  out.packing = false;
  out.left -= job.regions.size();
  if (out.left == 0) --leg.outgoing_left;
  const NodeId to = leg.handover->sends()[job.i].to;
  if (to == self_) {
    take_moved(self_, std::move(job.bytes));
    return;
  }
  moved_.bytes_sent += static_cast<std::int64_t>(job.bytes.size());
  port.send(to, std::move(job.bytes));
}

void EpochEngine::begin_region(Job& job) {
  const Incoming& incoming = job.leg->incoming[job.regions.front()];
  std::vector<ByteView> views;
  for (const Fragment& fragment : incoming.fragments) {
    views.push_back(fragment.view);
    job.n_bytes += fragment.view.size();
  }
  job.leg->handover->begin(job.regions.front(), views);
}

}  // namespace rubato::tick
