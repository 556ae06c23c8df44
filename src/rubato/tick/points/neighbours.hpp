#pragma once
// Neighbours: all that one tuple sees, and nothing besides.
//
// The order is part of the result: cell by cell of the block around the tuple's cell (row-major,
// the first dimension fastest), by id within a cell. Who is out of sight is not in the list at all,
// so neither the cut of the world into regions nor tuples that happen to be there can change a sum
// over it. Values stand in arrays with zeros up to the next multiple of 16: a zero offset at
// distance zero adds nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "rubato/tick/points/lanes.hpp"

namespace rubato::tick::points {

// T: coordinates; D: dimensions; S: further values of each neighbour; Tuple: what tuple(j) gives.
template <class T, int D, std::size_t S, class Tuple>
class Neighbours {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  // In blocks of kLanes: for (b = 0; b < size(); b += kLanes).
  [[nodiscard]] Lanes<T> offset(std::size_t d, std::size_t b) const noexcept {
    return load(stream(d) + b);
  }
  [[nodiscard]] Lanes<T> seen(std::size_t i, std::size_t b) const noexcept {
    return load(stream(D + i) + b);
  }

  // One by one: the way to neighbour j (the shorter way round in a periodic world), and its values.
  [[nodiscard]] T offset_at(std::size_t d, std::size_t j) const noexcept { return stream(d)[j]; }
  [[nodiscard]] T seen_at(std::size_t i, std::size_t j) const noexcept { return stream(D + i)[j]; }
  // Neighbour j with all of its fields. Only for models with kSeesTuples.
  [[nodiscard]] const Tuple& tuple(std::size_t j) const noexcept { return *tuples_[j]; }

  // The rest is for those who fill the list.
  static constexpr std::size_t kStreams = D + S;

  // Makes room for n neighbours and forgets all.
  void reserve(std::size_t n) {
    size_ = 0;
    if (n + 2 * kLanes <= stride_) return;
    stride_ = (n + n / 4 + 4 * kLanes) / kLanes * kLanes;
    values_ = std::make_unique<T[]>(stride_ * kStreams);
    tuples_ = std::make_unique<const Tuple*[]>(stride_);
  }
  [[nodiscard]] T* stream(std::size_t i) noexcept { return values_.get() + i * stride_; }
  [[nodiscard]] const T* stream(std::size_t i) const noexcept {
    return values_.get() + i * stride_;
  }
  [[nodiscard]] const Tuple** tuples() noexcept { return tuples_.get(); }
  // Ends the list at n, with zeros behind it.
  void finish(std::size_t n) noexcept {
    size_ = n;
    for (std::size_t i = 0; i < kStreams; ++i)
      store<T>(stream(i) + n, Lanes<T>{});
  }

 private:
  std::size_t size_ = 0;
  std::size_t stride_ = 0;
  std::unique_ptr<T[]> values_;             // [kStreams][stride_]
  std::unique_ptr<const Tuple*[]> tuples_;  // [stride_]
};

// The tuples that may be seen, as arrays: coordinates, then the values that neighbours see. There
// is room to read kLanes beyond any of them; one that is not a number is never seen.
template <class T, int D, std::size_t S, class Tuple>
struct Candidates {
  std::array<const T*, D + S> stream{};
  const Tuple* const* tuples = nullptr;
};

// Who looks: at a place, as far as the root of `visibility2`, and not at itself.
template <class T, int D>
struct Viewer {
  std::array<T, D> position{};
  T visibility2 = 0;
  std::size_t self = SIZE_MAX;  // its index among the candidates
};

// Appends those of candidates [begin, end) that the viewer sees to `out`, which holds n already and
// has room; returns how many it holds then. Tuples are appended only if kTuples.
template <bool kTuples, class T, int D, std::size_t S, class Tuple>
std::size_t look_one_by_one(const Candidates<T, D, S, Tuple>& from, std::size_t begin,
                            std::size_t end, const Viewer<T, D>& viewer,
                            Neighbours<T, D, S, Tuple>& out, std::size_t n) noexcept {
  for (std::size_t j = begin; j < end; ++j) {
    T distance2 = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const T offset = from.stream[d][j] - viewer.position[d];
      distance2 = d == 0 ? offset * offset : distance2 + offset * offset;
      out.stream(d)[n] = offset;
    }
    for (std::size_t i = D; i < D + S; ++i)
      out.stream(i)[n] = from.stream[i][j];
    if constexpr (kTuples) out.tuples()[n] = from.tuples[j];
    n += static_cast<std::size_t>(distance2 <= viewer.visibility2 && j != viewer.self);
  }
  return n;
}

#ifdef __AVX512F__
// The same, 16 at a time.
template <bool kTuples, int D, std::size_t S, class Tuple>
std::size_t look_by_lanes(const Candidates<float, D, S, Tuple>& from, std::size_t begin,
                          std::size_t end, const Viewer<float, D>& viewer,
                          Neighbours<float, D, S, Tuple>& out, std::size_t n) noexcept {
  // Local, since a store of lanes may alias anything and all would be read again.
  const std::array<const float*, D + S> in = from.stream;
  std::array<float*, D + S> to;
  for (std::size_t i = 0; i < D + S; ++i)
    to[i] = out.stream(i);
  __m512 at[D];
  for (std::size_t d = 0; d < D; ++d)
    at[d] = _mm512_set1_ps(viewer.position[d]);
  const __m512 limit = _mm512_set1_ps(viewer.visibility2);
  for (std::size_t j = begin; j < end; j += kLanes) {
    __m512 offsets[D];
    __m512 distance2 = _mm512_setzero_ps();
    for (std::size_t d = 0; d < D; ++d) {
      offsets[d] = _mm512_loadu_ps(in[d] + j) - at[d];
      const __m512 square = offsets[d] * offsets[d];
      distance2 = d == 0 ? square : distance2 + square;
    }
    std::uint32_t valid = end - j >= kLanes ? 0xffffU : (1U << (end - j)) - 1;
    const std::size_t self = viewer.self - j;
    valid &= ~(self < kLanes ? 1U << self : 0U);
    const __mmask16 mask =
        _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(valid), distance2, limit, _CMP_LE_OQ);
    for (std::size_t d = 0; d < D; ++d) {
      _mm512_storeu_ps(to[d] + n, _mm512_maskz_compress_ps(mask, offsets[d]));
    }
    for (std::size_t i = D; i < D + S; ++i) {
      const __m512 values = _mm512_loadu_ps(in[i] + j);
      _mm512_storeu_ps(to[i] + n, _mm512_maskz_compress_ps(mask, values));
    }
    if constexpr (kTuples) {
      std::size_t next = n;
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        out.tuples()[next++] = from.tuples[j + static_cast<std::size_t>(__builtin_ctz(left))];
      }
    }
    n += static_cast<std::size_t>(__builtin_popcount(mask));
  }
  return n;
}
#endif

template <bool kTuples, class T, int D, std::size_t S, class Tuple>
inline std::size_t look(const Candidates<T, D, S, Tuple>& from, std::size_t begin, std::size_t end,
                        const Viewer<T, D>& viewer, Neighbours<T, D, S, Tuple>& out,
                        std::size_t n) noexcept {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<T, float>) {
    return look_by_lanes<kTuples, D, S, Tuple>(from, begin, end, viewer, out, n);
  }
#endif
  return look_one_by_one<kTuples, T, D, S, Tuple>(from, begin, end, viewer, out, n);
}

}  // namespace rubato::tick::points
