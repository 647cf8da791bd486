#include "studies/run/encoders.h"

#include <fmt/format.h>

#include "studies/run/split/split.h"

namespace stepcast::run {
namespace {

/// What stands in front of the text: pieces of images or of sound.
struct Pieces {
  const char *flag, *several, *parts;
  const char* length;  ///< of one: a hint
};
constexpr Pieces of_images{
    "--images", "images", "patches", "--encoder-seq 1024, for 448 x 448 pixels in patches of 14"},
    of_sound{"--clips", "clips", "positions", "--encoder-seq 1500, for half a minute in frames of 10 ms, two to each"};
const Pieces& pieces_of(const NetworkSpec& encoder) { return encoder.sound ? of_sound : of_images; }

Expected<void> settle_pieces(const Request& request, NetworkSpec& network) {
  const RunWishes& told = request.wishes();
  const Frozen& frozen = told.frozen;
  NetworkSpec& encoder = network.encoders.front();
  const Pieces& pieces = pieces_of(encoder);
  encoder.images = encoder.sound ? told.clips : told.images;
  const bool text_alone = adapts_text_alone(request);
  encoder.frozen = encoder.frozen || frozen.encoder || text_alone;
  encoder.frozen_projectors = encoder.frozen_projectors || frozen.projector || text_alone;
  network.frozen = network.frozen || frozen.language;
  if (encoder.frozen && encoder.frozen_projectors && network.frozen)
    return fail("--freeze", "nothing of the network is trained", "one or two of encoder,projector,language");
  if (request.says(FieldId::encoder_sequence)) encoder.sequence = told.encoder_sequence;
  if (encoder.sequence == 0)
    return fail("--encoder-seq",
        fmt::format("{} does not say of how many {} its {} are", network.id, pieces.parts, pieces.several),
        pieces.length);
  if (encoder.sound && encoder.max_positions > 0 && encoder.sequence > encoder.max_positions)
    return fail("--encoder-seq",
        fmt::format("{} positions, and {} has places for {}", encoder.sequence, network.id, encoder.max_positions),
        fmt::format("at most {}, in more clips", encoder.max_positions));
  const std::int64_t merged = positions_merged(encoder.projectors.front()), classes = encoder.class_token ? 1 : 0;
  if ((encoder.sequence - classes) % merged == 0) return {};
  return fail("--encoder-seq", fmt::format("{} {}, of which {} make one row", encoder.sequence, pieces.parts, merged),
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

/// A network may hear or see: which of its two encoders a run has.
Expected<void> choose_encoder(const Request& request, NetworkSpec& network) {
  const RunWishes& told = request.wishes();
  const bool in_front = !network.encoders.empty() && !network.encoders.front().projectors.empty(),
             hears = in_front && network.encoders.front().sound;
  if (told.clips > 0 && told.images > 0)
    return fail("--clips", "images and sound in one sequence are not forecast", "--images or --clips alone");
  if (told.clips > 0 && !hears) {
    if (request.network && !request.network->unheard.empty())
      return fail("--clips",
          fmt::format("the encoder of sound of {} is not read: {}", network.id, request.network->unheard),
          "text alone, without --clips");
    if (!request.network || !request.network->sound)
      return fail("--clips", fmt::format("{} has no encoder of sound in front of it", network.id),
          "a config.json with an audio_config");
    network.encoders = {*request.network->sound};
  }
  if (told.images > 0 && hears)
    return fail("--images", fmt::format("the encoder in front of {} is of sound", network.id),
        fmt::format("--clips {}", told.images));
  return {};
}

/// Nothing stands in front of the text, or what stands there is no encoder of images.
Expected<void> settle_without(const Request& request, NetworkSpec& network, bool freezes) {
  const RunWishes& told = request.wishes();
  if (told.images == 0 && !freezes) return settle_length(request, network);
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

}  // namespace

bool adapts_text_alone(const Request& request) {
  return request.wishes().lora_rank > 0 && !request.says(FieldId::freeze);
}

Expected<void> settle_encoder(const Request& request, NetworkSpec& network) {
  const RunWishes& told = request.wishes();
  const bool freezes = told.frozen.projector || told.frozen.language;
  TRY(choose_encoder(request, network));
  if (network.encoders.empty() || network.encoders.front().projectors.empty())
    return settle_without(request, network, freezes);
  const Pieces& pieces = pieces_of(network.encoders.front());
  if (told.images > 0 || told.clips > 0) return settle_pieces(request, network);
  const bool hears_too = request.network && request.network->sound;
  if (request.says(FieldId::encoder_sequence) || told.frozen.encoder || freezes)
    return fail(pieces.flag, fmt::format("how many {} a sequence of {} has is not said", pieces.several, network.id),
        fmt::format("{} 4{}", pieces.flag, hears_too ? ", or --clips 4" : ""));
  if (looks_at_encoder(network))
    return fail(pieces.flag,
        fmt::format("layers of {} look at {}, and how many a sequence has is not said", network.id, pieces.several),
        fmt::format("{} 1", pieces.flag));
  network.encoders.clear();
  return {};
}

Expected<void> check_images(const NetworkSpec& network, std::int64_t sequence) {
  const std::int64_t rows = image_positions(network);
  if (rows <= sequence) return {};
  const Pieces& pieces = pieces_of(network.encoders.front());
  const std::int64_t count = network.encoders.front().images;
  return fail(pieces.flag,
      fmt::format("{} {} of {} rows do not fit into a sequence of {}", count, pieces.several, rows / count, sequence),
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
