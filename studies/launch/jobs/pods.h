// Where each kind of Kubernetes' jobs keeps its pods, and what those ask for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/error.h"
#include "model/yaml/yaml.h"

namespace stepcast::launch {

/// Pods of one role within a job.
struct Pods {
  std::string name;
  std::int64_t count = 0;
  const YamlNode* spec = nullptr;       ///< of the pod
  const YamlNode* container = nullptr;  ///< that asks for GPUs, else its first
};

/// Sources: kubeflow/training-operator pkg/apis/kubeflow.org/v1 (PyTorchJob, MPIJob), kubeflow/trainer
/// pkg/apis/trainer/v1alpha1 (TrainJob), kubernetes-sigs/jobset api/jobset/v1alpha2, volcano-sh/apis batch/v1alpha1,
/// kubernetes api/batch/v1; aws/sagemaker-hyperpod-cli (HyperPodPyTorchJob).
struct JobKind {
  std::string_view kind;
  std::string_view key;  ///< of the pods, in `spec`; "": that itself
  Expected<std::vector<Pods>> (*pods)(const YamlNode& node, const std::string& where);
  std::string_view ranks;     ///< of a pod, in `spec` or beside its pods: "nprocPerNode"; "": not told
  std::int64_t usual_ranks;   ///< where that is not written; 0: as many as GPUs
  bool tells;                 ///< its controller tells a launcher of nodes and ranks (PET_NNODES, a host file)
  std::string_view launcher;  ///< the role whose command starts all others'; "": each pod runs the launch
};

/// nullptr: its kind is none of these.
const JobKind* job_kind_of(const YamlNode& document);

/// A node below another, by its keys; nullptr: there is none.
const YamlNode* node_inside(const YamlNode* node, std::initializer_list<std::string_view> path);
/// What it says; "" where there is none.
std::string manifest_text(const YamlNode* node);
/// "job.yaml:12".
std::string place_in_manifest(const std::string& where, const YamlNode& node);
/// Error: no whole number.
Expected<std::int64_t> manifest_count(const YamlNode* node, const std::string& where, std::int64_t otherwise);

/// 0: it asks for none. Error: it asks for accelerators that are no GPUs.
Expected<std::int64_t> gpus_of_container(const YamlNode& container, const std::string& where);
/// "nvidia-h100-80gb" where a pod's nodes are chosen by that; "": they are not.
std::string gpu_kind_of_pod(const YamlNode* spec);

}  // namespace stepcast::launch
