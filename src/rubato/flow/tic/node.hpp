#pragma once
// What the nodes of a syntax tree are made of.

#include <memory>
#include <utility>

#include "rubato/flow/tic/type.hpp"

namespace rubato::flow::tic {

// What each node has. Places do not count in comparisons.
struct Node {
  Place place;
  friend bool operator==(const Node&, const Node&) noexcept { return true; }
};

// At most one T of its own: copies and compares deeply, which unique_ptr does not, and may hold a
// type that is not complete yet, which std::optional may not.
template <class T>
class Box {
 public:
  Box() = default;
  explicit Box(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(Box other) noexcept {
    value_.swap(other.value_);
    return *this;
  }
  ~Box() = default;

  [[nodiscard]] explicit operator bool() const noexcept { return value_ != nullptr; }
  // REQUIRES: it holds a value, for these three.
  [[nodiscard]] T& operator*() noexcept { return *value_; }
  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] T* operator->() noexcept { return value_.get(); }
  [[nodiscard]] const T* operator->() const noexcept { return value_.get(); }

  friend bool operator==(const Box& a, const Box& b) {
    return a && b ? *a == *b : static_cast<bool>(a) == static_cast<bool>(b);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace rubato::flow::tic
