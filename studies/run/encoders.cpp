#include "studies/run/encoders.h"

#include <fmt/format.h>

#include "studies/run/split/split.h"

namespace stepcast::run {
namespace {

Expected<void> settle_images(const Request& request, NetworkSpec& network) {
  const RunWishes& told = request.wishes();
  const Frozen& frozen = told.frozen;
  NetworkSpec& encoder = network.encoders.front();
  encoder.images = told.images;
  encoder.frozen = encoder.frozen || frozen.encoder;
  encoder.frozen_projectors = encoder.frozen_projectors || frozen.projector;
  network.frozen = network.frozen || frozen.language;
  if (encoder.frozen && encoder.frozen_projectors && network.frozen)
    return fail("--freeze", "nothing of the network is trained", "one or two of encoder,projector,language");
  if (request.says(FieldId::encoder_sequence)) encoder.sequence = told.encoder_sequence;
  if (encoder.sequence == 0)
    return fail("--encoder-seq", fmt::format("{} does not say of how many patches its images are", network.id),
        "--encoder-seq 1024, for 448 x 448 pixels in patches of 14");
  const std::int64_t merged = positions_merged(encoder.projectors.front()), classes = encoder.class_token ? 1 : 0;
  if ((encoder.sequence - classes) % merged == 0) return {};
  return fail("--encoder-seq", fmt::format("{} patches, of which {} make one row", encoder.sequence, merged),
      fmt::format(
          "{}{}", nearest_multiples(encoder.sequence - classes, merged), classes > 0 ? ", and the class's" : ""));
}

Expected<void> settle_length(const Request& request, NetworkSpec& network) {
  const bool told = request.says(FieldId::encoder_sequence), freezes = request.wishes().frozen.encoder;
  if (network.encoders.empty()) {
    if (!told && !freezes) return {};
    return fail(freezes ? "--freeze" : "--encoder-seq", fmt::format("{} has no encoder in front of it", network.id),
        freezes ? "--freeze none" : "--seq alone");
  }
  NetworkSpec& encoder = network.encoders.front();
  encoder.frozen = encoder.frozen || freezes;
  if (encoder.frozen && encoder.tied_embeddings)
    return fail("--freeze",
        fmt::format("the encoder of {} reads the table of words that its decoder trains", network.id), "--freeze none");
  if (told) encoder.sequence = request.wishes().encoder_sequence;
  if (encoder.sequence == 0)
    return fail("--encoder-seq", fmt::format("{} does not say how long the sequences of its encoder are", network.id),
        "--encoder-seq 512");
  if (encoder.positions != Positions::learned || encoder.sequence <= encoder.max_positions) return {};
  return fail("--encoder-seq",
      fmt::format("{} positions, but the encoder of {} has learned positions for {}", encoder.sequence, network.id,
          encoder.max_positions),
      fmt::format("at most {}", encoder.max_positions));
}

}  // namespace

Expected<void> settle_encoder(const Request& request, NetworkSpec& network) {
  const RunWishes& told = request.wishes();
  const bool of_images = told.frozen.projector || told.frozen.language;
  const bool sees = !network.encoders.empty() && !network.encoders.front().projectors.empty();
  if (!sees) {
    if (told.images == 0 && !of_images) return settle_length(request, network);
    const char* flag = told.images > 0 ? "--images" : "--freeze";
    if (request.network && !request.network->unseen.empty())
      return fail(flag, fmt::format("the encoder of images of {} is not read: {}", network.id, request.network->unseen),
          fmt::format("text alone, without {}", flag));
    if (told.images == 0 && !network.encoders.empty())
      return fail(flag,
          fmt::format("the encoder of {} is not of images, of which one freezes projector or language", network.id),
          network.encoders.front().tied_embeddings ? "--freeze none" : "--freeze encoder");
    return fail(flag, fmt::format("{} has no encoder of images in front of it", network.id),
        "a config.json with a vision_config");
  }
  if (told.images > 0) return settle_images(request, network);
  if (request.says(FieldId::encoder_sequence) || told.frozen.encoder || of_images)
    return fail("--images", fmt::format("how many images a sequence of {} has is not said", network.id), "--images 4");
  if (looks_at_encoder(network))
    return fail("--images",
        fmt::format("layers of {} look at images, and how many a sequence has is not said", network.id), "--images 1");
  network.encoders.clear();
  return {};
}

Expected<void> check_images(const NetworkSpec& network, std::int64_t sequence) {
  const std::int64_t rows = image_positions(network);
  if (rows <= sequence) return {};
  const std::int64_t images = network.encoders.front().images;
  return fail("--images",
      fmt::format("{} images of {} rows do not fit into a sequence of {}", images, rows / images, sequence),
      fmt::format("--seq {} or more", rows));
}

std::string frozen_parts(const NetworkSpec& network) {
  std::string parts;
  const auto add = [&](bool frozen, const char* part) {
    if (frozen) parts += (parts.empty() ? "" : ",") + std::string(part);
  };
  for (const NetworkSpec& encoder : network.encoders)
    add(encoder.frozen, "encoder"), add(encoder.frozen_projectors, "projector");
  add(network.frozen, "language");
  return parts;
}

}  // namespace stepcast::run
