#pragma once
// UseOverTime: how much of the time something was in use, over a time whose end nobody knows.
//
// A fixed number of bins: when the time is longer than they are, each two become one and a bin is
// twice as wide. So the memory is the same for a second and for a month, and a sum over bins is
// exact. More than one may use it at once: then a bin holds more time than it is wide.
//
// CoreUse: the same of each core of a process, seen by its host.

#include <array>
#include <memory>
#include <vector>

#include "rubato/base/bytes.hpp"
#include "rubato/core/observer.hpp"

namespace rubato::observe {

class UseOverTime {
 public:
  static constexpr std::size_t kBins = 256;

  // [begin, end) since the start of what is measured. What lies before it is cut off.
  void add(Nanos begin, Nanos end) noexcept;
  // All of another one, whose bins may be wider or narrower.
  void add(const UseOverTime& other) noexcept;

  [[nodiscard]] Nanos width() const noexcept { return width_; }
  [[nodiscard]] Nanos in_bin(std::size_t bin) const noexcept { return bins_[bin]; }
  [[nodiscard]] Nanos total() const noexcept;
  // Bins of this width at least.
  void widen(Nanos width) noexcept {
    while (width_ < width)
      halve();
  }

  void put(Writer& out) const;
  [[nodiscard]] static UseOverTime get(Reader& in);

 private:
  static constexpr Nanos kNarrowest = kMillisecond / 16;

  void halve() noexcept;

  Nanos width_ = kNarrowest;  // 2^n times kNarrowest
  std::array<Nanos, kBins> bins_{};
};

// The time that the cores of a node spend on works of their engine, from begin_run() on.
class CoreUse final : public core::ChainedObserver {
 public:
  explicit CoreUse(core::Observer* next) noexcept : ChainedObserver(next) {}

  // Before a run: `origin` is what times are counted from, read as soon as something runs.
  void begin_run(std::uint32_t n_cores, const Nanos& origin) {
    of_core_.assign(n_cores, {});
    origin_ = &origin;
  }
  [[nodiscard]] const std::vector<UseOverTime>& of_core() const noexcept { return of_core_; }

  void on_work(net::NodeId node, std::uint32_t core, const core::Work& work, Nanos begin,
               Nanos end) noexcept override {
    if (origin_ != nullptr) of_core_[core].add(begin - *origin_, end - *origin_);
    ChainedObserver::on_work(node, core, work, begin, end);
  }

 private:
  std::vector<UseOverTime> of_core_;  // [n_cores], each written by its core
  const Nanos* origin_ = nullptr;
};

}  // namespace rubato::observe
