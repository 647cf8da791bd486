// Special members of a struct with many fields, written out in one source file.
//
//   struct Stack { LARGE_VALUE(Stack); ... };      // in the header
//   LARGE_VALUE_MEMBERS(Stack)                     // in its .cpp, in the namespace of the struct
//
// A compiler writes the members that nobody declares into each object file that copies, moves or drops a value. For
// structs with dozens of strings and vectors these were up to a third of an object file of studies. Such a struct is no
// aggregate: its fields are set one by one.
#pragma once

#define LARGE_VALUE(type)           \
  type();                           \
  type(const type&);                \
  type(type&&) noexcept;            \
  type& operator=(const type&);     \
  type& operator=(type&&) noexcept; \
  ~type()

#define LARGE_VALUE_MEMBERS(type)                   \
  type::type() = default;                           \
  type::type(const type&) = default;                \
  type::type(type&&) noexcept = default;            \
  type& type::operator=(const type&) = default;     \
  type& type::operator=(type&&) noexcept = default; \
  type::~type() = default;
