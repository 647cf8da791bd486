#include "kernels/process/worker.h"

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace stepcast::kernels {

struct Worker::State {
  std::mutex guard;
  std::condition_variable changed;
  std::function<void()> task;
  bool busy = false, leave = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(guard);
    while (true) {
      changed.wait(lock, [&] { return busy || leave; });
      if (!busy) return;
      std::function<void()> now = std::exchange(task, nullptr);
      lock.unlock();
      now();
      now = nullptr;  // frees what it captured before anybody is told that it is done
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }
};

Worker::Worker() : state_(std::make_shared<State>()) {
  // The thread keeps the state alive: one that hangs may outlive the worker.
  state_->thread = std::thread([state = state_] { state->run(); });
}

Worker::~Worker() {
  if (!state_) return;
  bool busy = false;
  {
    const std::lock_guard lock(state_->guard);
    state_->leave = true;
    busy = state_->busy;
  }
  state_->changed.notify_all();
  if (busy) state_->thread.detach();
  else state_->thread.join();
}

void Worker::start(std::function<void()> task) {
  {
    const std::lock_guard lock(state_->guard);
    assert(!state_->busy);
    state_->task = std::move(task);
    state_->busy = true;
  }
  state_->changed.notify_all();
}

bool Worker::wait(Deadline until) {
  std::unique_lock lock(state_->guard);
  return state_->changed.wait_until(lock, until, [&] { return !state_->busy; });
}

}  // namespace stepcast::kernels
