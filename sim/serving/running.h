// Sequences that run in one group of ranks, in the order in which they were let in. Those that say words do so all at
// once, so that they are counted together: an iteration of words costs as much for a thousand of them as for one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace stepcast::sim {

struct RunningSequence {
  std::int64_t id = 0, prompt = 0, output = 0;
  std::int64_t to_read = 0;         ///< the prompt, and what it had said when it gave way
  std::int64_t said = 0, held = 0;  ///< words, and positions in the cache
  std::int64_t shared = 0;          ///< of the prompt, cached for all
  std::int64_t blocks = 0;          ///< of its own
  std::int64_t piece = 0;           ///< of its prompt in this iteration
  bool leaves = false;              ///< behind its first word
  bool comes = false;               ///< its keys are not there yet
};

class Running {
 public:
  using At = std::uint32_t;
  static constexpr At none = std::numeric_limits<At>::max();

  /// `grows`: speakers take a block whenever they need one; else they have all that they ever need.
  Running(std::int64_t block, bool grows) : block_(block), grows_(grows), needs_(grows ? block : 1) {}

  At push(const RunningSequence& sequence);  ///< behind all others; it does not speak
  void begin_to_speak(At at);
  RunningSequence erase(At at);  ///< as it is now

  /// Of those that do not speak.
  [[nodiscard]] RunningSequence& operator[](At at) { return nodes_[at].sequence; }
  [[nodiscard]] bool speaks(At at) const { return nodes_[at].speaks; }
  [[nodiscard]] bool has_spoken(At at) const { return nodes_[at].speaks && spoken_ > nodes_[at].since; }
  [[nodiscard]] At first() const { return first_; }
  [[nodiscard]] At last() const { return last_; }
  [[nodiscard]] At before(At at) const { return nodes_[at].before; }
  [[nodiscard]] At behind(At at) const { return nodes_[at].behind; }
  [[nodiscard]] std::int64_t size() const { return size_; }

  [[nodiscard]] std::int64_t speakers() const { return speakers_; }
  [[nodiscard]] std::int64_t contexts() const { return contexts_; }  ///< positions of speakers together
  /// Speakers that need a block for their next word, and whether this one does.
  [[nodiscard]] std::int64_t needs() const { return grows_ ? needs_[spoken_ % block_] : 0; }
  [[nodiscard]] bool needs_block(At at) const;
  /// Every speaker says a word.
  void speak();
  /// A speaker that has said its last, to be erased; none: there is no other.
  [[nodiscard]] At ended();

 private:
  struct Node {
    RunningSequence sequence;  ///< of a speaker as it was when it began
    At before = none, behind = none;
    std::int64_t since = 0, order = 0;  ///< words of all when it began; how many were let in before it
    std::int64_t residue = 0;           ///< of the words of all at which it needs a block
    bool speaks = false, alive = false;
  };
  struct End {
    std::int64_t at_word, order;
    At at;
    friend bool operator>(const End& a, const End& b) {
      return a.at_word != b.at_word ? a.at_word > b.at_word : a.order > b.order;
    }
  };

  std::int64_t block_;
  bool grows_;
  std::vector<Node> nodes_;
  std::vector<At> free_;
  At first_ = none, last_ = none;
  std::int64_t size_ = 0, speakers_ = 0, contexts_ = 0, spoken_ = 0, let_in_ = 0;
  std::vector<std::int64_t> needs_;  ///< by the words of all, in turns of a block
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace stepcast::sim
