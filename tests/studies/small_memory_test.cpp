// Small memory (studies/small_memory.cpp), asked as every container asks it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace stepcast::studies {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool ours = false;
#else
constexpr bool ours = true;
#endif

struct Taken {
  void* memory = nullptr;
  std::size_t bytes = 0;
  int mark = 0;
};

Taken take(std::size_t bytes, int mark) {
  Taken taken{::operator new(bytes), bytes, mark};
  std::memset(taken.memory, mark, bytes);
  return taken;
}

bool is_whole(const Taken& taken) {
  const auto* const bytes = static_cast<const unsigned char*>(taken.memory);
  for (std::size_t i = 0; i < taken.bytes; ++i)
    if (bytes[i] != static_cast<unsigned char>(taken.mark)) return false;
  return true;
}

TEST(SmallMemory, PiecesOfAllSizesKeepWhatIsWrittenAndAreAligned) {
  std::vector<Taken> all;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t bytes = 0; bytes < 1200; ++bytes)
      all.push_back(take(bytes, static_cast<int>((bytes * 7 + static_cast<std::size_t>(round)) % 251)));
    // Every third goes back, by its size or without: its place is taken again in the next round.
    std::vector<Taken> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 3 != 0) kept.push_back(all[i]);
      else if (i % 2 == 0) ::operator delete(all[i].memory, all[i].bytes);
      else ::operator delete(all[i].memory);
    }
    all = std::move(kept);
    for (const Taken& taken : all) {
      ASSERT_TRUE(is_whole(taken)) << taken.bytes;
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(taken.memory) % alignof(std::max_align_t), 0U) << taken.bytes;
    }
  }
  for (const Taken& taken : all) ::operator delete(taken.memory);
}

TEST(SmallMemory, PiecesLieWithoutHeads) {
  if (!ours) GTEST_SKIP() << "sanitizers look after memory themselves";
  constexpr std::size_t bytes = 32;
  constexpr int count = 4096;
  std::vector<void*> all;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < count; ++i)
    places.insert(reinterpret_cast<std::uintptr_t>(all.emplace_back(::operator new(bytes))));
  int beside = 0;
  for (const std::uintptr_t place : places) beside += places.contains(place + bytes) ? 1 : 0;
  EXPECT_GT(beside, count * 9 / 10);
  for (void* memory : all) ::operator delete(memory, bytes);
}

TEST(SmallMemory, WhatEndedThreadsHadIsTakenAgain) {
  if (!ours) GTEST_SKIP() << "sanitizers look after memory themselves";
  constexpr int threads = 40, count = 3000;
  constexpr std::size_t bytes = 208;
  std::set<void*> places;
  for (int i = 0; i < threads; ++i)
    std::thread([&] {
      std::vector<void*> all;
      for (int k = 0; k < count; ++k) all.push_back(::operator new(bytes));
      places.insert(all.begin(), all.end());
      for (void* memory : all) ::operator delete(memory, bytes);
    }).join();
  EXPECT_LT(places.size(), 3U * count);
}

TEST(SmallMemory, OneThreadGivesBackWhatAnotherTook) {
  constexpr int rounds = 200, count = 500;
  std::vector<Taken> handed;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Taken> made;
    std::thread maker([&] {
      for (int k = 0; k < count; ++k) made.push_back(take(static_cast<std::size_t>(k % 600), (round + k) % 251));
    });
    std::thread dropper([&] {
      for (const Taken& taken : handed) {
        EXPECT_TRUE(is_whole(taken));
        ::operator delete(taken.memory, taken.bytes);
      }
    });
    maker.join();
    dropper.join();
    handed = std::move(made);
  }
  for (const Taken& taken : handed) ::operator delete(taken.memory, taken.bytes);
}

}  // namespace
}  // namespace stepcast::studies
