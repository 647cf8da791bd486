// How schedulers, images and environments call accelerators: whether a job was written for other ones than a machine
// has.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "model/machine/machine.h"

namespace stepcast {

/// Does a name that a scheduler knows GPUs by ("mi250", "nvidia-l4", "NVIDIA-A100-SXM4-80GB") mean others than the
/// machine's? Words of a site ("gpu", "nvidia") and parts of a GPU ("a100_1g.5gb") tell less.
bool names_other_gpu(std::string_view kind, const Machine& machine);

/// Accelerators that are no GPUs, by a resource that a container asks for or the image that it runs; "" = none.
std::string_view other_chip(std::string_view resource_or_image);

/// The same by variables that only their software reads; "" = none.
std::string_view chip_of_environment(const std::map<std::string, std::string>& environment);

/// Whose GPUs a resource, an image, a device or a backend of kernels is for: "AMD's GPUs"; "" = it does not say.
std::string_view vendor_of(std::string_view word);

/// The same by variables that only a vendor's software reads; "" = none.
std::string_view vendor_of_environment(const std::map<std::string, std::string>& environment);

/// Is it one, and has the machine another's GPUs?
bool is_other_vendor(std::string_view vendor, const Machine& machine);

}  // namespace stepcast
