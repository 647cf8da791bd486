// Decides what a fit starts from, and writes into the profile how it was made.
#pragma once

#include <string>

#include "calibrate/fit/fit_profile.h"
#include "model/base/error.h"
#include "model/machine/machine.h"
#include "model/profile/profile.h"

namespace stepcast::calibration {

/// What gives the laws that nobody measured: the profile of that name or file, scaled where it is of another GPU; with
/// "" the GPU's own of the catalogue.
Expected<Profile> start_profile(const std::string& named, const Gpu& gpu);

/// The id of the profile: as given, or with "" "GPU-measured". Letters, digits, - _ . only.
Expected<std::string> fitted_id(const std::string& given, const Gpu& gpu);

/// What a later reader of the profile has to know of its making.
void describe_fit(FittedProfile& fitted, const Profile& start, std::size_t rows);

}  // namespace stepcast::calibration
