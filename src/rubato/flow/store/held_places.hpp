#pragma once
// HeldPlaces: data that are still there when a run has ended, or were never set, by the places that
// made them.
//
// Of all cores, put together on the way to the one that speaks. kCarried places at most are kept, the
// first in their order and not those with most: a place that is left out somewhere cannot come in
// again elsewhere, so that each number that is told is exact.

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "rubato/flow/store/datum.hpp"

namespace rubato::flow {

// Data that are alike.
struct HeldPlace {
  std::string place;  // "file:line"
  std::string what;   // "future", "container", .. and how it stands with it
  std::string kind;   // of its value or of its members; "" if that is not known
  std::uint64_t n = 0;
  std::uint64_t n_members = 0;  // of all of them; known of containers that are closed

  // "2 futures (integer) of a.cpp:12".
  [[nodiscard]] std::string text() const;
};

class HeldPlaces {
 public:
  static constexpr std::size_t kCarried = 1000;
  static constexpr std::size_t kListed = 100;

  void add(const Datum& held);
  void add(const HeldPlaces& other);
  // One that is not there any more.
  void add_place(const std::string& place, const std::string& what) {
    add(Key{place, what, ""}, {1, 0});
  }
  // Those with most data first, else in the order of files and lines; kListed at most.
  [[nodiscard]] std::vector<HeldPlace> most_first() const;

  void put(Writer& out) const;
  [[nodiscard]] static HeldPlaces get(Reader& in);

 private:
  struct Key {
    std::string place;
    std::string what;
    std::string kind;
    [[nodiscard]] bool operator<(const Key& other) const {
      return std::tie(place, what, kind) < std::tie(other.place, other.what, other.kind);
    }
  };
  struct Count {
    std::uint64_t n = 0;
    std::uint64_t n_members = 0;
  };
  void add(const Key& key, const Count& count);

  std::map<Key, Count> places_;
};

}  // namespace rubato::flow
