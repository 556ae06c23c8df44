#include "rubato/global/vector.hpp"

#include <algorithm>

namespace rubato::global::detail {

std::uint64_t TicketList::push(std::uint64_t n) {
  const std::uint64_t first = std::exchange(next_, next_ + n);
  size_ += n;
  if (!ranges_.empty() && ranges_.back().first + ranges_.back().n == first) {
    ranges_.back().n += n;
  } else {
    ranges_.push_back({first, n});
  }
  return first;
}

std::uint64_t TicketList::pop_back() {
  if (ranges_.empty()) return kNone;
  TicketRange& last = ranges_.back();
  const std::uint64_t ticket = last.first + --last.n;
  if (last.n == 0) ranges_.pop_back();
  --size_;
  return ticket;
}

std::uint64_t TicketList::pop_front() {
  if (ranges_.empty()) return kNone;
  TicketRange& range = ranges_.front();
  const std::uint64_t ticket = range.first++;
  if (--range.n == 0) ranges_.pop_front();
  --size_;
  return ticket;
}

std::uint64_t TicketList::at(std::uint64_t i) const {
  for (const TicketRange& range : ranges_) {
    if (i < range.n) return range.first + i;
    i -= range.n;
  }
  return kNone;
}

TicketPositions::TicketPositions(const std::vector<TicketRange>& ranges) {
  std::uint64_t position = 0;
  for (const TicketRange& range : ranges) {
    by_first_[range.first] = position;
    position += range.n;
  }
}

std::uint64_t TicketPositions::of(std::uint64_t ticket) const {
  const auto range = std::prev(by_first_.upper_bound(ticket));
  return range->second + (ticket - range->first);
}

}  // namespace rubato::global::detail
