#include "rubato/core/task/task_queue.hpp"

namespace rubato::core::detail {

TaskQueue::~TaskQueue() {
  while (!empty()) {
    Record* record = oldest();
    record->run(record + 1, Run::drop);
  }
  while (first_ != nullptr) {
    const std::unique_ptr<Block> block(first_);
    first_ = block->next;
  }
}

void TaskQueue::add_block() {
  // A queue that is emptied as it is filled stays within one block.
  if (last_ != nullptr && last_ == first_ && n_ == 0) {
    last_->begin = last_->end = 0;
    return;
  }
  std::unique_ptr<Block> block = std::move(spare_);
  if (!block) block.reset(new Block);
  block->next = nullptr;
  block->begin = block->end = 0;
  Block* added = block.release();
  if (last_ != nullptr) {
    last_->next = added;
  } else {
    first_ = added;
  }
  last_ = added;
}

void TaskQueue::drop_block() {
  RUBATO_ASSERT(first_ != nullptr && first_->next != nullptr, n_);
  spare_.reset(std::exchange(first_, first_->next));
}

}  // namespace rubato::core::detail
