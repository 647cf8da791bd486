#include "studies/engines/deployment/value_forms.h"

#include <initializer_list>

namespace stepcast::engines {
namespace {

constexpr std::string_view in_host_memory = "caches in host memory are not forecast";

/// A runtime of one's own may set arguments of vLLM.
constexpr ValueRow stands_elsewhere = {
    "predictor/model/runtime", Means::refused, "its runtime stands elsewhere, and may set arguments"};

/// Of KServe's predictor, for each format of its models, with what is read of one format alone.
std::vector<ValueRow> predictor_rows(std::initializer_list<ValueRow> more = {}) {
  std::vector<ValueRow> rows = {{"predictor", Means::scaled}, {"predictor/workerSpec", Means::several},
      {"predictor/workerSpec/tensorParallelSize", Means::value, "tensor-parallel-size"},
      {"predictor/workerSpec/pipelineParallelSize", Means::value, "pipeline-parallel-size"},
      {"predictor/model/args", Means::words}};
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace

/// helm/templates/deployment-vllm-multi.yaml and operator/api/v1alpha1 of vllm-project/production-stack;
/// config/llmisvcconfig and python/huggingfaceserver of kserve/kserve; api/k8s/v1/model_types.go of
/// kubeai-project/kubeai; LLMConfig of ray-project/ray, python/ray/llm/_internal/serve.
const std::vector<ValuesForm>& value_forms() {
  static const std::vector<ValuesForm> rows = {
      {"modelURL", "", "vllmConfig .",
          {{"replicaCount", Means::copies}, {"keda", Means::scaled, "enabled"}, {"raySpec", Means::one},
              {"enabled", Means::starts}, {"requestGPUType", Means::gpus},
              {"vllmConfig/enableChunkedPrefill", Means::yes_no, "enable-chunked-prefill"},
              {"vllmConfig/enablePrefixCaching", Means::yes_else, "enable-prefix-caching"},
              {"vllmConfig/maxModelLen", Means::value, "max-model-len"}, {"vllmConfig/dtype", Means::value, "dtype"},
              {"vllmConfig/tensorParallelSize", Means::value, "tensor-parallel-size"},
              {"vllmConfig/pipelineParallelSize", Means::value, "pipeline-parallel-size"},
              {"vllmConfig/maxNumSeqs", Means::value, "max-num-seqs"},
              {"vllmConfig/gpuMemoryUtilization", Means::value, "gpu-memory-utilization"},
              {"vllmConfig/maxLoras", Means::value, "max-loras"}, {"vllmConfig/runner", Means::value, "runner"},
              {"vllmConfig/convert", Means::value, "convert"}, {"vllmConfig/extraArgs", Means::words},
              {"vllmConfig/v0", Means::zero_if_1, "VLLM_USE_V1"}, {"vllmConfig/v1", Means::variable, "VLLM_USE_V1"},
              {"vllmConfig/prometheusMultiprocDir"}, {"lmcacheConfig/enabled", Means::store},
              {"enableLoRA", Means::if_true, "enable-lora"}, {"modelURL"}, {"name"}, {"annotations"},
              {"podAnnotations"}, {"podLabels"}, {"pdb"}, {"nodeSelector"}, {"labels"}, {"serviceAccountName"},
              {"repository", Means::image}, {"tag", Means::tag}, {"imagePullSecret"}, {"imagePullPolicy"},
              {"modelRevision"}, {"requestCPU"}, {"requestMemory"}, {"requestGPU", Means::held}, {"limitCPU"},
              {"limitMemory"}, {"pvcStorage"}, {"pvcAccessMode"}, {"pvcMatchLabels"}, {"pvcAnnotations"},
              {"storageClass"}, {"extraVolumes"}, {"extraVolumeMounts"}, {"extraPorts"}, {"vllmConfig"},
              {"lmcacheConfig"}, {"hf_token"}, {"env", Means::variables}, {"envFromSecret"}, {"nodeSelectorTerms"},
              {"nodeName"}, {"tolerations"}, {"affinity"}, {"shmSize"}, {"chatTemplate"}, {"chatTemplateConfigMap"},
              {"enableTool"}, {"toolCallParser"}, {"enableReasoning"}, {"reasoningParser"}, {"initContainer"},
              {"runtimeClassName"}, {"priorityClassName"}, {"lifecycle"}, {"securityContext"},
              {"terminationGracePeriodSeconds"}}},
      {"model/modelURL", "", "vllmConfig model",
          {{"deploymentConfig/replicas", Means::copies}, {"deploymentConfig/resources/gpu", Means::held},
              {"model/modelURL"}, {"model/enableLoRA", Means::if_true, "enable-lora"}, {"model/enableTool"},
              {"model/toolCallParser"}, {"model/maxModelLen", Means::value, "max-model-len"},
              {"model/dtype", Means::value, "dtype"}, {"model/maxNumSeqs", Means::value, "max-num-seqs"},
              {"model/hfTokenSecret"}, {"model/hfTokenName"},
              {"vllmConfig/enableChunkedPrefill", Means::yes_no, "enable-chunked-prefill"},
              {"vllmConfig/enablePrefixCaching", Means::yes_no, "enable-prefix-caching"},
              {"vllmConfig/tensorParallelSize", Means::value, "tensor-parallel-size"},
              {"vllmConfig/gpuMemoryUtilization", Means::value, "gpu-memory-utilization"},
              {"vllmConfig/maxLoras", Means::value, "max-loras"}, {"vllmConfig/extraArgs", Means::words},
              {"vllmConfig/v1", Means::variable, "VLLM_USE_V1"}, {"vllmConfig/port"},
              {"vllmConfig/env", Means::variables}, {"lmCacheConfig/enabled", Means::store}}},
      {"model/uri", "model/name", "parallelism model speculator speculator/config .",
          {{"replicas", Means::copies}, {"scaling", Means::scaled},
              {"parallelism/tensor", Means::value, "tensor-parallel-size"},
              {"parallelism/pipeline", Means::value, "pipeline-parallel-size"},
              {"parallelism/data", Means::value, "data-parallel-size"},
              {"parallelism/dataLocal", Means::value, "data-parallel-size-local"}, {"parallelism/dataRPCPort"},
              {"parallelism/expert", Means::if_true, "enable-expert-parallel"},
              {"speculator/config/method", Means::value, "speculative-config.method"},
              {"speculator/config/num_speculative_tokens", Means::value, "speculative-config.num_speculative_tokens"},
              {"speculator/config/model", Means::value, "speculative-config.model"},
              {"speculator/config/draft_tensor_parallel_size", Means::value,
                  "speculative-config.draft_tensor_parallel_size"},
              {"prefill", Means::refused, "prompts have a pool of their own beside it, which its values tell"},
              {"kvCacheOffloading", Means::refused, in_host_memory},
              {"workload/kvCacheOffloading", Means::refused, in_host_memory},
              {"model/lora", Means::refused, "adapters are not forecast"},
              {"baseRefs", Means::refused, "its values stand over those of a base, which may set arguments"},
              {"model/uri"}, {"model/name"}, {"model/confidential"}, {"model/criticality"}, {"storageInitializer"},
              {"router"}, {"tracing"}, {"labels"}, {"annotations"}, {"template"}, {"worker", Means::several},
              {"rolloutStrategy"}},
          "template/containers", "model/uri"},
      {"predictor/model/storageUri", "", "", predictor_rows(), "predictor/model", "predictor/model/modelFormat/name",
          "huggingface", "huggingfaceserver", "predictor/model/args"},
      {"predictor/model/storageUri", "", "", predictor_rows({stands_elsewhere}), "predictor/model",
          "predictor/model/modelFormat/name", "vllm"},
      {"url", "", ".",
          {{"", Means::scaled_unless, "autoscalingDisabled"}, {"enabled", Means::starts}, {"args", Means::words},
              {"env", Means::variables}, {"resourceProfile", Means::gpus}, {"image", Means::image}, {"replicas"},
              {"minReplicas"}, {"maxReplicas"}, {"url"}, {"engine"}, {"features"}, {"owner"}, {"catalog"},
              {"targetRequests"}, {"scaleDownDelaySeconds"}, {"autoscalingDisabled"}, {"cacheProfile"},
              {"loadBalancing"}, {"priorityClassName"}, {"files"}, {"envFrom"}},
          "", "engine", "vllm"},
      {"model_loading_config/model_source", "model_loading_config/model_id", ".",
          {{"engine_kwargs", Means::options}, {"accelerator_type", Means::gpus},
              {"deployment_config/num_replicas", Means::copies},
              {"deployment_config/autoscaling_config", Means::scaled}, {"deployment_config"}, {"model_loading_config"},
              {"runtime_env/env_vars", Means::variables}, {"runtime_env"}, {"llm_engine"}, {"log_engine_metrics"},
              {"experimental_configs"}, {"placement_group_config"}, {"input_modality"}}},
  };
  return rows;
}

}  // namespace stepcast::engines
