// Manifests of Kubernetes that train: what their pods run, on how many nodes, and what contradicts itself.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/studies/launch/strangers.h"

namespace stepcast::launch::strangers_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JobManifests : public StrangersLaunch {
 protected:
  Ran scenario(const std::string& manifest, const std::string& more = "") {
    return run_line("predict --megatron " + write("job.yaml", manifest) + " --print-scenario " + more);
  }

  static std::string pods(const std::string& run, int gpus, const std::string& indent) {
    return indent + "template:\n" + indent + "  spec:\n" + indent + "    containers:\n" + indent +
           "      - name: pytorch\n" + indent + "        " + run + "\n" + indent +
           "        resources: {limits: {nvidia.com/gpu: " + std::to_string(gpus) + "}}\n";
  }

  /// One master and the workers.
  static std::string pytorch_job(const std::string& run, const std::string& other, int gpus = 8) {
    return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n"
           "    Master:\n      replicas: 1\n" +
           pods(run, gpus, "      ") + "    Worker:\n      replicas: 3\n" + pods(other, gpus, "      ");
  }

  const std::string run_ = "command: [\"bash\", \"-c\", \"torchrun pretrain_gpt.py" + sizes + "\"]";
};

TEST_F(JobManifests, PodsOfAPyTorchJobAreNodes) {
  const Ran ran = scenario(pytorch_job(run_, run_));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"gpus\": 32"), HasSubstr("\"layers\": 24"))) << ran.err;
  EXPECT_THAT(run_line("predict --megatron " + write("job.yaml", pytorch_job(run_, run_))).out,
      HasSubstr("a PyTorchJob of 4 pods that train, with 8 GPUs each"));
}

/// A list of roles in place of a map, and a launcher that takes torchrun's options.
TEST_F(JobManifests, HyperPodsJobIsOneOfPyTorch) {
  const auto job = [&](const std::string& launcher, int replicas) {
    return "apiVersion: sagemaker.amazonaws.com/v1\nkind: HyperPodPyTorchJob\nmetadata: {name: a}\nspec:\n"
           "  nprocPerNode: \"8\"\n  replicaSpecs:\n    - name: pods\n      replicas: " +
           std::to_string(replicas) + "\n" +
           pods("command: [\"bash\", \"-c\", \"" + launcher + " pretrain_gpt.py" + sizes + "\"]", 8, "      ");
  };
  EXPECT_THAT(scenario(job("hyperpodrun --nnodes=4 --nproc-per-node=8", 4)).out, HasSubstr("\"gpus\": 32"));
  EXPECT_THAT(scenario(job("torchrun", 2)).out, HasSubstr("\"gpus\": 16"));
  EXPECT_THAT(scenario(job("hyperpodrun --nnodes=4", 2)).err, HasSubstr("told 4 nodes"));
}

/// Jobs of clouds have the command and the counts inside: what they are is said, and how to go on.
TEST_F(JobManifests, JobsOfCloudsAreNamed) {
  const std::string run = "python pretrain_gpt.py" + sizes;
  const Ran azure =
      scenario("$schema: https://azuremlschemas.azureedge.net/latest/commandJob.schema.json\ncommand: " + run +
               "\ncompute: azureml:a\ndistribution: {type: pytorch}\nresources: {instance_count: 4}\n");
  EXPECT_EQ(azure.code, 2);
  EXPECT_THAT(azure.err, AllOf(HasSubstr("Azure Machine Learning (commandJob)"), HasSubstr("--gpus N")));
  const Ran batch = scenario("{\"jobDefinitionName\": \"a\", \"type\": \"multinode\", \"nodeProperties\": "
                             "{\"numNodes\": 4, \"mainNode\": 0}}");
  EXPECT_EQ(batch.code, 2);
  EXPECT_THAT(batch.err, AllOf(HasSubstr("AWS Batch (nodeProperties)"), HasSubstr("--gpus N")));
}

TEST_F(JobManifests, NodesMayBeNumberedByHandAndHaveHelpers) {
  const auto numbered = [](int node) {
    return "command: [\"bash\", \"-c\", \"torchrun --node_rank " + std::to_string(node) + " pretrain_gpt.py" + sizes +
           "\"]";
  };
  std::string job = pytorch_job(numbered(0), numbered(1));
  for (std::size_t at = job.find("containers:\n"); at != job.npos; at = job.find("containers:\n", at + 1))
    job.insert(at + 12, "            - {name: daemon, image: b, command: [daemon]}\n");
  EXPECT_THAT(scenario(job).out, HasSubstr("\"gpus\": 32")) << scenario(job).err;
}

TEST_F(JobManifests, WordsBlocksAndVariablesAreRead) {
  const std::string words =
      "env: [{name: MBS, value: \"4\"}]\n              command: [torchrun]\n"
      "              args: [pretrain_gpt.py, --num-layers, \"24\", --hidden-size, \"2048\", "
      "--num-attention-heads, \"16\", --seq-length, \"2048\", --max-position-embeddings, \"2048\", "
      "--micro-batch-size, $(MBS), --global-batch-size, \"512\", --vocab-size, \"32000\", --bf16]";
  const Ran ran = scenario(pytorch_job(words, words));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"gpus\": 32"), HasSubstr("\"micro_batch\": 4"))) << ran.err;
}

/// envsubst fills the words of a template as it fills its counts; what a shell runs is the script's to fill.
TEST_F(JobManifests, WordsOfATemplateAreFilledIn) {
  const std::string words =
      "command: [torchrun, pretrain_gpt.py, \"--num-layers=${LAYERS}\", --hidden-size=2048, "
      "--num-attention-heads=16, --seq-length=$LENGTH, --max-position-embeddings=2048, --micro-batch-size=1, "
      "--global-batch-size=512, --vocab-size=32000, --bf16]";
  const Ran filled = scenario(pytorch_job(words, words), "--define LAYERS=24 --define LENGTH=2048");
  EXPECT_THAT(filled.out, AllOf(HasSubstr("\"layers\": 24"), HasSubstr("\"sequence\": 2048"))) << filled.err;
  EXPECT_EQ(scenario(pytorch_job(words, words), "--define LAYERS=24").code, 2) << "nothing fills the other";
  const std::string shell =
      "command: [\"bash\", \"-c\", \"LAYERS=12; torchrun pretrain_gpt.py" + sizes + " --num-layers ${LAYERS}\"]";
  EXPECT_THAT(scenario(pytorch_job(shell, shell)).out, HasSubstr("\"layers\": 12"));
}

/// Scripts of a ConfigMap and of a block keep what they set themselves, and their functions' own arguments.
TEST_F(JobManifests, ScriptsInsideAManifestFillThemselves) {
  const std::string script =
                        "run() { torchrun pretrain_gpt.py" + sizes + " --micro-batch-size $1 --num-layers ${LAYERS}; }",
                    set = "LAYERS=12", call = "run 2";
  const auto mapped = [&](const std::string& front) {
    const std::string run = "command: [bash, /s/run.sh]\n              volumeMounts: [{name: here, mountPath: /s}]";
    std::string all = pytorch_job(run, run);
    const std::string volumes = "          volumes: [{name: here, configMap: {name: launch}}]\n";
    for (std::size_t at = all.find("containers:\n"); at != all.npos;
         at = all.find("containers:\n", at + 12 + volumes.size()))
      all.insert(all.rfind('\n', at) + 1, volumes), at += volumes.size();
    return all + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: launch}\ndata:\n  run.sh: |\n    " + front +
           "\n    " + script + "\n    " + call + "\n";
  };
  const std::string defined = "--define LAYERS=24 --define 1=8";
  const Ran own = scenario(mapped(set), defined), open = scenario(mapped("set -e"), "--define LAYERS=24");
  EXPECT_THAT(own.out, AllOf(HasSubstr("\"layers\": 12"), HasSubstr("\"micro_batch\": 2"))) << own.err;
  EXPECT_THAT(open.out, HasSubstr("\"layers\": 24")) << open.err;
}

/// A container's own variable goes over one of the ConfigMap: 4 sequences a pass, and not 2.
TEST_F(JobManifests, TheLastValueOfAVariableCounts) {
  std::string words = sizes;
  words.replace(words.find("size 1"), 6, "size $(MBS)");
  const std::string run = "envFrom: [{configMapRef: {name: settings}}]\n"
                          "              env: [{name: ALL, value: \"4\"}, {name: MBS, value: $(ALL)}]\n"
                          "              command: [\"bash\", \"-c\", \"torchrun pretrain_gpt.py" +
                          words + "\"]";
  const std::string map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {MBS: \"2\"}\n";
  const Ran ran = scenario(pytorch_job(run, run) + map);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"gpus\": 32"), HasSubstr("\"micro_batch\": 4"))) << ran.err;
}

TEST_F(JobManifests, OtherKindsTellTheirNodesInTheirWay) {
  const std::string trainer = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
                              "  trainer:\n    numNodes: 2\n    " +
                              run_ + "\n    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n";
  EXPECT_THAT(scenario(trainer).out, HasSubstr("\"gpus\": 16")) << scenario(trainer).err;

  const std::string told =
      "command: [\"bash\", \"-c\", \"torchrun --nnodes 8 --nproc_per_node 8 pretrain_gpt.py" + sizes + "\"]";
  const std::string set = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec:\n"
                          "  replicatedJobs:\n    - name: slices\n      replicas: 2\n      template:\n        spec:\n"
                          "          parallelism: 4\n" +
                          pods(told, 8, "          ");
  EXPECT_THAT(scenario(set).out, HasSubstr("\"gpus\": 64")) << scenario(set).err;

  const std::string job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n" + pods(run_, 8, "  ");
  EXPECT_EQ(scenario(job).code, 2) << "nothing tells torchrun of more than one rank";

  const std::string mpi = "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n"
                          "  slotsPerWorker: 8\n  mpiReplicaSpecs:\n    Launcher:\n      replicas: 1\n"
                          "      template:\n        spec:\n          containers:\n            - name: mpi\n"
                          "              command: [\"bash\", \"-c\", \"mpirun python pretrain_gpt.py" +
                          sizes + "\"]\n    Worker:\n      replicas: 2\n" + pods("image: a", 8, "      ");
  EXPECT_THAT(scenario(mpi).out, HasSubstr("\"gpus\": 16")) << scenario(mpi).err;
}

/// A ConfigMap of the same file is mounted as a folder, or is the environment: 2 sequences a pass, on 4 pods of 8 GPUs.
TEST_F(JobManifests, TextsOfAConfigMapBesideAJobAreRead) {
  const auto job = [](const std::string& container, const std::string& name = "launch") {
    std::string all =
        pytorch_job("command: [bash, /scripts/run.sh]" + container, "command: [bash, /scripts/run.sh]" + container);
    const std::string volumes = "          volumes: [{name: here, configMap: {name: " + name + "}}]\n";
    for (std::size_t at = all.find("containers:\n"); at != all.npos;
         at = all.find("containers:\n", at + 12 + volumes.size()))
      all.insert(all.rfind('\n', at) + 1, volumes), at += volumes.size();
    return all;
  };
  const std::string mounts = "\n              volumeMounts: [{name: here, mountPath: /scripts/}]",
                    from = "\n              envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]";
  std::string run = sizes;
  run.replace(run.find("size 1"), 6, "size $MBS");
  const std::string map = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: launch}\ndata:\n  run.sh: |\n"
                          "    torchrun pretrain_gpt.py" +
                          run +
                          "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {MBS: \"2\"}\n";
  const Ran ran = scenario(job(mounts + from) + map);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"gpus\": 32"), HasSubstr("\"micro_batch\": 2"))) << ran.err;
  const std::string path = write("job.yaml", job(mounts + from) + map);
  EXPECT_THAT(run_line("predict --megatron " + path).out, HasSubstr("variables of the secret keys, which is not"));
  EXPECT_THAT(scenario(job(mounts) + map).err, HasSubstr("nothing sets $MBS"));
  EXPECT_THAT(scenario(job(mounts + from, "other") + map).err, HasSubstr("it runs run.sh, which is not beside it"));
  EXPECT_THAT(scenario(job(from) + map).err, HasSubstr("it runs run.sh, which is not beside it"))
      << "it is not mounted";
}

/// The same command runs another text where pods mount another map.
TEST_F(JobManifests, PodsThatMountOtherTextsAreNotAlike) {
  const auto job = [](const std::string& other, const std::string& path) {
    const std::string run = "command: [bash, " + path + "]\n              volumeMounts: [{name: here, mountPath: /s}]";
    std::string all = pytorch_job(run, run);
    const auto mount = [&](const std::string& name, std::size_t behind) {
      const std::size_t at = all.find("containers:\n", behind);
      all.insert(all.rfind('\n', at) + 1, "          volumes: [{name: here, configMap: {name: " + name + "}}]\n");
    };
    mount(other, all.find("Worker:"));
    mount("first", 0);
    for (const char* name : {"first", "second"}) {
      std::string run_it = sizes;
      run_it.replace(run_it.find("size 1"), 6, name == std::string("first") ? "size 1" : "size 4");
      all += std::string("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: ") + name +
             "}\ndata:\n  run.sh: |\n    torchrun pretrain_gpt.py" + run_it + "\n";
    }
    return all;
  };
  EXPECT_THAT(scenario(job("second", "/s/run.sh")).err,
      HasSubstr("pods of Worker find another text as /s/run.sh than those before them"));
  for (const char* path : {"/s/run.sh", "/s/./run.sh", "/s//run.sh"})
    EXPECT_THAT(scenario(job("first", path)).out, HasSubstr("\"micro_batch\": 1")) << path;
}

TEST_F(JobManifests, CountsThatContradictAreErrors) {
  const auto run = [](const std::string& launcher) {
    return "command: [\"bash\", \"-c\", \"" + launcher + " pretrain_gpt.py" + sizes + "\"]";
  };
  const std::string nodes = run("torchrun --nnodes 2"), ranks = run("torchrun --nproc_per_node 8");
  EXPECT_THAT(
      scenario(pytorch_job(nodes, nodes)).err, HasSubstr("the launcher is told 2 nodes, and the PyTorchJob has 4"));
  EXPECT_THAT(scenario(pytorch_job(ranks, ranks, 4)).err,
      HasSubstr("the launcher starts 8 ranks on a node, and its pod has 4 GPUs"));
  EXPECT_THAT(scenario(pytorch_job(ranks, nodes)).err, HasSubstr("pods of Worker run another command"));
}

TEST_F(JobManifests, WhatIsNotThereIsNamed) {
  const std::string image = "image: a";
  EXPECT_THAT(scenario(pytorch_job(image, image)).err, HasSubstr("the container runs what its image does"));
  std::string chips = pytorch_job(run_, run_);
  for (std::size_t at = chips.find("nvidia.com/gpu"); at != chips.npos; at = chips.find("nvidia.com/gpu"))
    chips.replace(at, 14, "google.com/tpu");
  EXPECT_THAT(scenario(chips).err, HasSubstr("TPUs, which are no GPUs"));
  std::string open = pytorch_job(run_, run_);
  open.replace(open.find("replicas: 3"), 11, "replicas: N");
  EXPECT_THAT(scenario(open).err, HasSubstr("replicas 'N' is no count"));
  open.replace(open.find("replicas: N"), 11, "replicas: $NODES");
  EXPECT_THAT(scenario(open).err, HasSubstr("--define of that variable"));
  EXPECT_THAT(scenario(open, "--define NODES=7").out, HasSubstr("\"gpus\": 64"));
  const std::string two = pytorch_job(run_, run_);
  EXPECT_THAT(scenario(two + "---\n" + two).err, HasSubstr("a second job in one file"));
}

/// Compose has no shell: the sizes stand on lines of their own, and no backslash ends the first.
TEST_F(JobManifests, TextsOfComposeAreOneCommand) {
  const std::string compose = "services:\n  train:\n    environment: {TP: \"4\"}\n    command: |\n"
                              "      torchrun --nproc_per_node 8 pretrain_gpt.py --bf16\n        " +
                              sizes + "\n        --tensor-model-parallel-size ${TP}\n";
  const Ran ran = scenario(compose);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\"gpus\": 8"), HasSubstr("\"layers\": 24"), HasSubstr("mesh tp:4 ")))
      << ran.err;
  EXPECT_THAT(scenario("services:\n  train:\n    command: torchrun pretrain_gpt.py \\ --bf16\n").err,
      HasSubstr("a backslash before a blank"));
}

}  // namespace
}  // namespace stepcast::launch::strangers_test
