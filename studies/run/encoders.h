// What a run says of the encoder in front of its network: how long its sequences are, how many images, which parts are
// not trained.
#pragma once

#include <string>

#include "model/network/network.h"
#include "studies/run/request.h"

namespace stepcast::run {

/// A run with adapters trains those of the text alone unless it says which parts are frozen (--freeze none: adapters on
/// the encoder, too): defaults of LLaMA-Factory (freeze_vision_tower, freeze_multi_modal_projector) and ms-swift
/// (freeze_vit, freeze_aligner).
bool adapts_text_alone(const Request& request);

/// Into the network. An encoder of images is there where the run has images; else text is trained alone.
Expected<void> settle_encoder(const Request& request, NetworkSpec& network);

/// Whether the images' rows find room in a sequence of the network.
Expected<void> check_images(const NetworkSpec& network, std::int64_t sequence);

/// Parts that are not trained: "encoder,projector"; empty: all are.
std::string frozen_parts(const NetworkSpec& network);

}  // namespace stepcast::run
