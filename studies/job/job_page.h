// A job as a page that stands alone: its figures, where the time goes, how a life of it goes, goodput over GPUs and
// over the checkpoint interval.
#pragma once

#include <string>

#include "studies/job/forecast.h"

namespace stepcast::job {

constexpr const char* job_page_mark = "job";
std::string job_page(const JobForecast& job, const JobWishes& wishes);

}  // namespace stepcast::job
