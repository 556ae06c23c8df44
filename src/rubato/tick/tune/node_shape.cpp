#include "rubato/tick/tune/node_shape.hpp"

namespace rubato::tick {

void NodeShape::put(Writer& out) const {
  out.put(size);
  out.put(std::uint8_t{is_uneven});
  out.put_vector(inside);
  out.put(static_cast<std::uint64_t>(inside_of.size()));
  for (const std::vector<double>& other : inside_of)
    out.put_vector(other);
  out.put(static_cast<std::int64_t>(layers));
  out.put(static_cast<std::uint64_t>(links.size()));
  for (const LinkShape& link : links) {
    out.put(std::uint64_t{link.node});
    out.put_vector(link.layers);
    out.put_vector(link.with);
  }
}

NodeShape NodeShape::get(Reader& in) {
  NodeShape shape;
  shape.size = in.get<double>();
  shape.is_uneven = in.get<std::uint8_t>() != 0;
  shape.inside = in.get_vector<double>();
  shape.inside_of.resize(in.get<std::uint64_t>());
  for (std::vector<double>& other : shape.inside_of)
    other = in.get_vector<double>();
  shape.layers = static_cast<int>(in.get<std::int64_t>());
  shape.links.resize(in.get<std::uint64_t>());
  for (LinkShape& link : shape.links) {
    link.node = static_cast<NodeId>(in.get<std::uint64_t>());
    link.layers = in.get_vector<double>();
    link.with = in.get_vector<std::uint32_t>();
  }
  return shape;
}

}  // namespace rubato::tick
