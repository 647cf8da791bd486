#include "kernels/library/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace stepcast::kernels {
namespace {

using testing::HasSubstr;

TEST(SharedLibrary, FunctionOfALoadedLibraryIsCalled) {
  constexpr std::string_view names[] = {"libm.so.6"};
  const auto library = SharedLibrary::open(names, "");
  ASSERT_TRUE(library) << to_text(library.error());
  EXPECT_THAT(library->path(), HasSubstr("libm.so.6"));
  EXPECT_EQ(library->path().front(), '/') << library->path();
  double (*root)(double) = nullptr;
  ASSERT_TRUE(library->load(root, "sqrt"));
  EXPECT_EQ(root(9.0), 3.0);
}

TEST(SharedLibrary, SecondNameIsTriedWhereTheFirstIsNotThere) {
  constexpr std::string_view names[] = {"libnone-of-this-name.so.7", "libm.so.6"};
  const auto library = SharedLibrary::open(names, "");
  ASSERT_TRUE(library) << to_text(library.error());
  EXPECT_THAT(library->path(), HasSubstr("libm.so.6"));
}

TEST(SharedLibrary, MissingOneNamesAllThatWasTriedAndTheHint) {
  constexpr std::string_view names[] = {"libnone-of-this-name.so.7", "libnone-of-this-name.so"};
  const auto library = SharedLibrary::open(names, "install none");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().where, "libnone-of-this-name.so.7");
  EXPECT_THAT(library.error().what, HasSubstr("libnone-of-this-name.so.7 or libnone-of-this-name.so"));
  EXPECT_THAT(library.error().what, HasSubstr("/usr/local/cuda/lib64"));
  EXPECT_THAT(library.error().what, HasSubstr("cannot open shared object file"));  // the loader's words
  EXPECT_EQ(library.error().hint, "install none");
}

TEST(SharedLibrary, FileInAToolkitThatIsNoLibraryIsNamedWithTheLoadersWords) {
  const auto toolkit = std::filesystem::temp_directory_path() / "stepcast_shared_library_test";
  std::filesystem::create_directories(toolkit / "lib64");
  std::ofstream(toolkit / "lib64" / "libbroken-on-purpose.so.1") << "no library";
  const char* before = std::getenv("CUDA_HOME");
  const std::string restored = before != nullptr ? before : "";
  setenv("CUDA_HOME", toolkit.c_str(), 1);
  constexpr std::string_view names[] = {"libbroken-on-purpose.so.1"};
  const auto library = SharedLibrary::open(names, "");
  before != nullptr ? setenv("CUDA_HOME", restored.c_str(), 1) : unsetenv("CUDA_HOME");
  std::filesystem::remove_all(toolkit);
  ASSERT_FALSE(library);
  EXPECT_THAT(library.error().what, HasSubstr((toolkit / "lib64" / "libbroken-on-purpose.so.1").string()));
  EXPECT_THAT(library.error().what, HasSubstr("file too short"));
}

TEST(SharedLibrary, MissingFunctionNamesItAndTheLibrary) {
  constexpr std::string_view names[] = {"libm.so.6"};
  const auto library = SharedLibrary::open(names, "");
  ASSERT_TRUE(library);
  void (*nothing)() = nullptr;
  const auto loaded = library->load(nothing, "no_such_function_in_libm");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(nothing, nullptr);
  EXPECT_THAT(loaded.error().where, HasSubstr("libm.so.6"));
  EXPECT_THAT(loaded.error().what, HasSubstr("no_such_function_in_libm"));
}

}  // namespace
}  // namespace stepcast::kernels
