#pragma once
// What is said when a task runs into what lies below its guarded stack: its name and where it was
// spawned, in place of a bare segmentation fault.
//
// The handler of SIGSEGV runs on a stack of its own, which each thread that drives tasks has;
// faults elsewhere go to whoever handled the signal before. Not with ASan, which has its own
// report.

namespace rubato::core::detail {

// The calling thread drives tasks: gives it a stack for the handler, once. The first call of the
// process installs the handler.
void watch_for_overflow();

}  // namespace rubato::core::detail
