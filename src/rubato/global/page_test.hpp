#pragma once
// Page: a value of a user's own type, of any length, for tests of what takes such values.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "rubato/base/bytes.hpp"

namespace rubato::global {

struct Page {
  std::string title;
  std::vector<std::uint32_t> links;
  bool operator==(const Page&) const = default;
  bool operator<(const Page& other) const {
    return std::tie(title, links) < std::tie(other.title, other.links);
  }

  void put(Writer& out) const {
    out.put_string(title);
    out.put_vector(links);
  }
  static Page get(Reader& in) {
    Page page{in.get_string(), {}};
    page.links = in.get_vector<std::uint32_t>();
    return page;
  }
};

}  // namespace rubato::global
