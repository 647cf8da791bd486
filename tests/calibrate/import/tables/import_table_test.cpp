// Tables of a few lines in the layouts of known exports, and in our own words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/import/importer.h"

namespace stepcast::calibrate {
namespace {

using testing::HasSubstr;

Measurements table_rows(std::string_view text, const std::string& where = "t.csv", const ImportOptions& options = {}) {
  auto measurements = read_table(text, where, options);
  EXPECT_TRUE(measurements.has_value()) << (measurements ? "" : to_text(measurements.error()));
  return measurements.value_or(Measurements{});
}

Error table_error(std::string_view text, const ImportOptions& options = {}, const std::string& where = "t.csv") {
  const auto measurements = read_table(text, where, options);
  EXPECT_FALSE(measurements.has_value());
  return measurements ? Error{} : measurements.error();
}

ImportOptions on_gpu(const std::string& gpu) {
  ImportOptions options;
  options.context.gpu = gpu;
  return options;
}

template <typename What> const What& as(const Measurements& measurements, std::size_t row) {
  return std::get<What>(measurements.rows.at(row).what);
}

const MeasurementContext& context_of(const Measurements& measurements, std::size_t row) {
  return measurements.contexts.at(static_cast<std::size_t>(measurements.rows.at(row).context));
}

TEST(ImportTable, columns_that_are_not_read_are_listed) {
  const auto notes = [](std::string_view text) { return table_rows(text, "t.csv", on_gpu("h100-sxm")).notes; };
  EXPECT_THAT(notes("m,n,k,dtype,time_us,tflops,heads\n4096,4096,4096,bf16,200,9999,8\n"),
      testing::Contains(HasSubstr("columns that are not read: heads, tflops")));
  EXPECT_THAT(notes("kind,bytes,gpus,time_us,busbw\nall_reduce,1048576,8,40,9\n"),
      testing::Contains(HasSubstr("columns that are not read: busbw")));
  for (const char* whole : {"m,n,k,precision,time_us,repeats,empty\n4096,4096,4096,bf16,200,10,\n",
           "heads,head_dim,s,Batch_Size,dtype,time_us,pass\n32,128,4096,2,bf16,200,fwd\n"})
    EXPECT_THAT(notes(whole), testing::Not(testing::Contains(HasSubstr("not read")))) << whole;
}

TEST(ImportTable, gemms_in_our_words) {
  const Measurements rows = table_rows(
      "m,n,k,dtype,time_us\n128,4096,1024,bf16,10\n256,4096,1024,fp8-block,20\n", "t.csv", on_gpu("h100-sxm"));
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(as<GemmQuery>(rows, 0).m, 128);
  EXPECT_EQ(as<GemmQuery>(rows, 0).n, 4096);
  EXPECT_EQ(as<GemmQuery>(rows, 0).k, 1024);
  EXPECT_EQ(as<GemmQuery>(rows, 0).precision, Precision::bf16);
  EXPECT_DOUBLE_EQ(rows.rows[0].time.value(), 10e-6);
  EXPECT_TRUE(as<GemmQuery>(rows, 1).block_scaled);
  EXPECT_EQ(context_of(rows, 1).gpu, "h100-sxm");
}

TEST(ImportTable, words_case_delimiters_and_line_ends) {
  const char* texts[] = {"M,N,K,DType,Time_ms\r\n1,2,4,half,3\r\n", "m;n;k;dtype;time_ms\n1;2;4;half;3\n",
      "m\tn\tk\tprecision\tlatency (ms)\n1\t2\t4\tfloat16\t3\n",
      "\xEF\xBB\xBF# by hand\nm , n,k, dtype,\"runtime [ms]\"\n\n1,\"2\",4,fp16, 3\n"};
  for (const char* text : texts) {
    const Measurements rows = table_rows(text, "t.csv", on_gpu("l4"));
    ASSERT_EQ(rows.rows.size(), 1u) << text;
    EXPECT_EQ(as<GemmQuery>(rows, 0).n, 2) << text;
    EXPECT_EQ(as<GemmQuery>(rows, 0).precision, Precision::fp16) << text;
    EXPECT_DOUBLE_EQ(rows.rows[0].time.value(), 3e-3) << text;
  }
}

TEST(ImportTable, a_gpu_per_row_by_the_drivers_name) {
  const Measurements rows = table_rows("m,n,k,dtype,time_s,gpu,software\n1,1,1,fp32,1,NVIDIA "
                                       "A100-PCIE-40GB,x\n1,1,1,fp32,1,A100-80GB-SXM4,x\n1,1,1,fp32,2,h100,y\n");
  ASSERT_EQ(rows.rows.size(), 3u);
  EXPECT_EQ(context_of(rows, 0).gpu, "a100-pcie-40gb");
  EXPECT_EQ(context_of(rows, 1).gpu, "a100-80gb");
  EXPECT_EQ(context_of(rows, 2).gpu, "h100-sxm");
  EXPECT_EQ(context_of(rows, 2).software, "y");
  EXPECT_EQ(rows.contexts.size(), 3u);
}

TEST(ImportTable, a_column_map_names_a_strangers_columns) {
  ImportOptions options = on_gpu("a100");
  options.columns = {{"m", "rows of x"}, {"n", "outputs"}, {"k", "inputs"}, {"time_us", "runtime"}};
  options.precision = "bf16";
  const char* text = "rows of x,outputs,inputs,runtime,wall_ms\n8,16,32,5,9\n";
  const Measurements rows = table_rows(text, "t.csv", options);
  ASSERT_EQ(rows.rows.size(), 1u);
  EXPECT_EQ(as<GemmQuery>(rows, 0).k, 32);
  EXPECT_DOUBLE_EQ(rows.rows[0].time.value(), 5e-6);
  EXPECT_EQ(context_of(rows, 0).gpu, "a100");
  options.columns["k"] = "input";
  EXPECT_THAT(table_error(text, options).hint, HasSubstr("inputs"));
}

TEST(ImportTable, attention_experts_memory_and_collectives_in_our_words) {
  const Measurements a =
      table_rows("batch,heads,kv_heads,head_dim,seqlen,pass,dtype,time_ms\n2,16,4,128,1024,fwd+bwd,bf16,1\n", "t.csv",
          on_gpu("h100"));
  EXPECT_EQ(as<AttentionQuery>(a, 0).keys, 1024);
  EXPECT_EQ(as<AttentionQuery>(a, 0).kv_heads, 4);
  EXPECT_EQ(as<AttentionQuery>(a, 0).pass, AttentionPass::forward_and_backward);
  EXPECT_TRUE(as<AttentionQuery>(a, 0).causal);
  const Measurements e = table_rows(
      "tokens,hidden,inter,topk,experts,skew,dtype,time_ms\n64,1024,512,2,8,1.2,bf16,1\n", "t.csv", on_gpu("h100"));
  EXPECT_EQ(as<MoeQuery>(e, 0).experts, 8);
  EXPECT_DOUBLE_EQ(as<MoeQuery>(e, 0).skew, 1.2);
  const Measurements o = table_rows(
      "op,rows,columns,dtype,time_us\nrmsnorm,4096,8192,bf16,50\nsoftmax,16,32,fp32,5\n", "t.csv", on_gpu("h100"));
  EXPECT_EQ(as<MemoryQuery>(o, 0).op->id, "norm");
  EXPECT_EQ(as<MemoryQuery>(o, 1).element_bytes, 4);
  const Measurements c = table_rows(
      "kind,bytes,gpus,nodes,time_us\nallreduce,1048576,16,2,60\nAll-Gather,1024,8,,5\n", "t.csv", on_gpu("h100"));
  EXPECT_EQ(as<CollectiveQuery>(c, 0).kind, CollectiveKind::all_reduce);
  EXPECT_EQ(as<CollectiveQuery>(c, 0).nodes, 2);
  EXPECT_EQ(as<CollectiveQuery>(c, 1).kind, CollectiveKind::all_gather);
  EXPECT_EQ(as<CollectiveQuery>(c, 1).nodes, 1);
}

TEST(ImportTable, wide_gemms_have_a_collection_per_column) {
  const char* text = "m,n,k,h100_sxm_trt130rc20_us,b200_sxm_vllm0220_sustained_us,b200_sxm_vllm0220_sustained_W\n"
                     "512,1024,2048,100,50,700\n1024,1024,1024,,40,\n";
  const Measurements all = table_rows(text, "gemm_fp8_multi.csv");
  ASSERT_EQ(all.rows.size(), 3u);
  EXPECT_EQ(context_of(all, 0).gpu, "h100-sxm");
  EXPECT_EQ(context_of(all, 0).software, "trt130rc20");
  EXPECT_EQ(context_of(all, 0).regime, "burst");
  EXPECT_TRUE(as<GemmQuery>(all, 0).casts_x);  // TensorRT-LLM's fp8 tables hold the cast
  EXPECT_EQ(context_of(all, 1).regime, "sustained");
  EXPECT_FALSE(as<GemmQuery>(all, 1).casts_x);
  EXPECT_DOUBLE_EQ(all.rows[1].power_w, 700);
  EXPECT_DOUBLE_EQ(all.rows[2].power_w, 0);
  EXPECT_THAT(all.notes, testing::Contains(HasSubstr("1 fields without a time")));
  ImportOptions only;
  only.only = {{"collection", "h100_sxm_trt130rc20"}};
  EXPECT_EQ(table_rows(text, "gemm_bf16.csv", only).rows.size(), 1u);
  EXPECT_FALSE(as<GemmQuery>(table_rows(text, "gemm_bf16.csv", only), 0).casts_x);
  only.only = {{"collection", "h100_sxm_trt130rc2"}};
  EXPECT_THAT(table_error(text, only).hint, HasSubstr("h100_sxm_trt130rc20"));
}

TEST(ImportTable, deepgemm_collections_are_block_scaled_without_a_cast) {
  const Measurements rows = table_rows("m,n,k,b200_deepgemm_trt130rc20_us\n512,1024,2048,100\n", "gemm_fp8block_x.csv");
  EXPECT_TRUE(as<GemmQuery>(rows, 0).block_scaled);
  EXPECT_FALSE(as<GemmQuery>(rows, 0).casts_x);
  EXPECT_EQ(context_of(rows, 0).gpu, "b200-sxm");
}

TEST(ImportTable, aiconfigurator_gemms_in_milliseconds) {
  const Measurements rows = table_rows("framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
                                       "TRTLLM,1.0,NVIDIA H200,gemm,cublas,fp8,64,128,256,0.5\nTRTLLM,1.0,NVIDIA "
                                       "H200,gemm,cublas,int4_wo,64,128,256,0.5\n");
  ASSERT_EQ(rows.rows.size(), 1u);
  EXPECT_DOUBLE_EQ(rows.rows[0].time.value(), 0.5e-3);
  EXPECT_EQ(context_of(rows, 0).gpu, "h200-sxm");
  EXPECT_EQ(context_of(rows, 0).software, "trtllm 1.0 cublas");
  EXPECT_TRUE(as<GemmQuery>(rows, 0).casts_x);
  EXPECT_THAT(rows.notes, testing::Contains(HasSubstr("1 rows of element type 'int4_wo'")));
}

TEST(ImportTable, aiconfigurator_attention_prefills_and_decodes) {
  const Measurements rows =
      table_rows("batch_size,isl,step,num_heads,num_key_value_heads,head_dim,time_us,collection\n"
                 "2,1024,0,32,8,128,100,h100_sxm_sglang_0.5.14\n2,512,512,32,8,128,100,h100_sxm_sglang_0.5.14\n"
                 "4,1,1023,32,8,128,20,l40s_trtllm_1.3.0rc20\n",
          "attention_bf16.csv");
  ASSERT_EQ(rows.rows.size(), 3u);
  EXPECT_EQ(as<AttentionQuery>(rows, 0).pass, AttentionPass::forward);
  EXPECT_EQ(as<AttentionQuery>(rows, 0).keys, 1024);
  EXPECT_EQ(as<AttentionQuery>(rows, 1).queries, 512);
  EXPECT_EQ(as<AttentionQuery>(rows, 1).keys, 1024);
  EXPECT_EQ(as<AttentionQuery>(rows, 2).pass, AttentionPass::decode);
  EXPECT_EQ(as<AttentionQuery>(rows, 2).keys, 1024);
  EXPECT_EQ(context_of(rows, 0).software, "sglang 0.5.14");
  EXPECT_EQ(context_of(rows, 2).gpu, "l40s");
}

TEST(ImportTable, aiconfigurator_decodes_over_a_latent_cache) {
  const Measurements rows = table_rows(
      "framework,version,device,op_name,kernel_source,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,"
      "latency\n"
      "TRTLLM,1.3.0rc20,NVIDIA H200,mla_generation,default,bfloat16,fp8,16,4,1,8,1023,0.02\n"
      "TRTLLM,1.3.0rc20,NVIDIA H200,mla_context,default,bfloat16,bfloat16,16,4,1024,8,0,0.2\n",
      "mla.csv");
  ASSERT_EQ(rows.rows.size(), 1u);
  const auto& query = as<AttentionQuery>(rows, 0);
  EXPECT_EQ(query.pass, AttentionPass::decode);
  EXPECT_EQ(query.keys, 1024);
  EXPECT_EQ(query.heads, 16);
  EXPECT_EQ(query.kv_heads, 1);
  EXPECT_EQ(query.head_dim, 576);
  EXPECT_EQ(query.latent_values, 512);
  EXPECT_EQ(query.precision, Precision::fp8);
  EXPECT_EQ(context_of(rows, 0).software, "trtllm 1.3.0rc20");
  EXPECT_THAT(rows.notes, testing::Contains(HasSubstr("1 rows of latent attention over whole prompts")));
}

TEST(ImportTable, aiconfigurator_experts_with_their_skew) {
  const Measurements rows = table_rows(
      "moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,time_us,"
      "collection\n"
      "bfloat16,64,2048,768,8,128,2,4,power_law_1.2,75,a100_sxm_sglang_0.5.10\nfp8,64,2048,768,8,128,1,1,balanced,75,"
      "h100_sxm_x\n");
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(as<MoeQuery>(rows, 0).skew, 1.2);
  EXPECT_EQ(as<MoeQuery>(rows, 0).tensor_ways, 2);
  EXPECT_EQ(as<MoeQuery>(rows, 0).expert_ways, 4);
  EXPECT_DOUBLE_EQ(as<MoeQuery>(rows, 1).skew, 0);
  EXPECT_EQ(as<MoeQuery>(rows, 1).precision, Precision::fp8);
}

TEST(ImportTable, neusight_operators_and_devices_outside_the_catalogue) {
  const Measurements rows =
      table_rows("op,B,M,N,K,device,split,time_us,kernel,H,dtype\n"
                 "linear,2,5,6,7,NVIDIA L4,train,10,sgemm_tn,,fp32\nbmm,2,5,6,7,Tesla T4,train,10,,,fp32\n"
                 "pow,100,,,,NVIDIA L4,train,10,,300,fp32\npowu,100,,,,NVIDIA L4,train,10,,300,fp32\nln,100,,,,Tesla "
                 "P4,train,10,,300,fp32\n");
  ASSERT_EQ(rows.rows.size(), 4u);
  EXPECT_EQ(as<GemmQuery>(rows, 0).m, 10);  // the batch shares the weights of a linear layer
  EXPECT_EQ(as<GemmQuery>(rows, 1).batch, 2);
  EXPECT_EQ(as<GemmQuery>(rows, 1).layout, GemmLayout::nn);
  EXPECT_EQ(as<MemoryQuery>(rows, 2).op->id, "add");  // two operands
  EXPECT_EQ(as<MemoryQuery>(rows, 3).op->id, "add-scalar");
  EXPECT_EQ(as<MemoryQuery>(rows, 3).columns, 300);
  EXPECT_THAT(rows.notes, testing::Contains(HasSubstr("1 rows of a device that the catalogue lacks: 'Tesla P4'")));
}

TEST(ImportTable, a_row_of_vidur_is_a_layer) {
  const Measurements rows = table_rows(
      "gpu,n_head,n_kv_head,n_embd,n_expanded_embd,use_gated_mlp,num_tokens,num_tensor_parallel_workers,emb_us,input_"
      "layernorm_us,"
      "attn_pre_proj_us,attn_rope_us,attn_post_proj_us,post_attention_layernorm_us,mlp_up_proj_us,mlp_act_us,mlp_down_"
      "proj_us,add_us\n"
      "a100,32,8,4096,16384,True,100,4,1,2,3,4,5,,7,8,9,10\n");
  ASSERT_EQ(rows.rows.size(), 9u);  // no time of the second norm
  EXPECT_EQ(as<GemmQuery>(rows, 2).n, (4096 + 2 * 1024) / 4);
  EXPECT_EQ(as<GemmQuery>(rows, 2).k, 4096);
  EXPECT_EQ(as<MemoryQuery>(rows, 3).columns, (4096 + 1024) / 4);
  EXPECT_EQ(as<GemmQuery>(rows, 4).k, 1024);
  EXPECT_EQ(as<GemmQuery>(rows, 5).n, 2 * 4096);  // gate and up
  EXPECT_EQ(as<MemoryQuery>(rows, 6).op->id, "swiglu");
  EXPECT_EQ(as<GemmQuery>(rows, 7).k, 4096);
  EXPECT_EQ(as<MemoryQuery>(rows, 8).columns, 4096);
  EXPECT_DOUBLE_EQ(rows.rows[7].time.value(), 9e-6);
}

TEST(ImportTable, published_rates_become_times) {
  const Measurements a = table_rows(
      "gpu,impl,pass,head_dim,causal,seqlen,tflops,source\nH100-80GB-SXM5,FlashAttention-3,fwd,128,1,16384,100,x\n"
      "H100-80GB-SXM5,PyTorch unfused,fwd,128,1,16384,100,x\n");
  ASSERT_EQ(a.rows.size(), 1u);
  EXPECT_EQ(as<AttentionQuery>(a, 0).heads, 16);
  EXPECT_EQ(as<AttentionQuery>(a, 0).batch, 1);
  EXPECT_NEAR(a.rows[0].time.value(), 4.0 * 2048 * 16384 * 16384 / 2 / 100e12, 1e-12);
  const Measurements d = table_rows("kind,groups,m_per_group,n,k,tflops,gbps\ndense,2,64,1000,1000,256,1\n");
  EXPECT_EQ(as<GemmQuery>(d, 0).batch, 2);
  EXPECT_NEAR(d.rows[0].time.value(), 1e-6, 1e-15);  // 2.56e8 FLOPs at 256 TFLOP/s
  EXPECT_EQ(context_of(d, 0).gpu, "h800-sxm");
}

TEST(ImportTable, collectives_of_aiconfigurator_and_vidur) {
  const Measurements n =
      table_rows("system,data_dir,version_col,device,op,dtype,num_gpus,elements,bytes,latency_ms\n"
                 "h100_sxm,nccl_2.23,,,alltoall,half,8,512,1024,0.01\nl40s,nccl_2.27.3,2.27.3,NVIDIA "
                 "L40S,all_reduce,int8,4,512,512,0.02\n");
  ASSERT_EQ(n.rows.size(), 2u);
  EXPECT_EQ(as<CollectiveQuery>(n, 0).kind, CollectiveKind::all_to_all);
  EXPECT_EQ(as<CollectiveQuery>(n, 0).bytes, Bytes(1024));
  EXPECT_EQ(context_of(n, 0).fabric, "nvswitch");
  EXPECT_EQ(context_of(n, 1).fabric, "pcie");
  EXPECT_EQ(context_of(n, 1).nccl, "2.27.3");
  const Measurements v =
      table_rows("sku,collective,num_workers,devices_per_node,bytes,median_ms\na100_dgx,all_reduce,16,8,2048,0.04\n"
                 "a100_pairwise_nvlink,send_recv,2,2,2048,0.01\nh100_dgx,all_gather,8,8,2048,0.01\n");
  ASSERT_EQ(v.rows.size(), 3u);
  EXPECT_EQ(as<CollectiveQuery>(v, 0).nodes, 2);
  EXPECT_EQ(as<CollectiveQuery>(v, 0).bytes, Bytes(2048));
  EXPECT_EQ(context_of(v, 0).gpu, "a100-80gb");
  EXPECT_EQ(context_of(v, 1).gpu, "a100-pcie-80gb");
  EXPECT_EQ(context_of(v, 1).fabric, "nvlink_mesh");
  EXPECT_EQ(as<CollectiveQuery>(v, 2).bytes, Bytes(8 * 2048));
}

TEST(ImportTable, rates_beyond_the_datasheet_are_noted) {
  // 8192^3: 1.1e12 FLOPs in 1 ms are 1100 TFLOP/s on a card of 989.
  const Measurements rows =
      table_rows("m,n,k,dtype,time_ms\n8192,8192,8192,bf16,1\n8192,8192,8192,bf16,2\n", "t.csv", on_gpu("h100-sxm"));
  EXPECT_EQ(rows.rows.size(), 2u);
  ASSERT_EQ(rows.notes.size(), 1u);
  EXPECT_THAT(rows.notes[0], HasSubstr("1 rows of h100-sxm : more FLOP/s than the chip has; the first is t.csv:2"));
}

TEST(ImportTable, mistakes_name_the_line) {
  const ImportOptions h100 = on_gpu("h100-sxm");
  const std::string header = "m,n,k,dtype,time_us\n1,1,1,bf16,1\n";
  EXPECT_EQ(table_error(header + "1,1,1,bf16\n", h100).where, "t.csv:3");  // cut off
  EXPECT_THAT(table_error(header + "1,1,1,bf16,1,5\n", h100).hint, HasSubstr("decimal commas"));
  EXPECT_THAT(table_error(header + "1,1,1,bf16,\"1,5\"\n", h100).hint, HasSubstr("decimal point"));
  EXPECT_EQ(table_error(header + "1,1,1,bf16,0\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,1,1,bf16,-2\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,1,1,bf16,fast\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,1,1,bf16,nan\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "0,1,1,bf16,1\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1.5,1,1,bf16,1\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,,1,bf16,1\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,1,1,bf17,1\n", h100).where, "t.csv:3");
  EXPECT_EQ(table_error(header + "1,1,1,\"bf16,1\n", h100).where, "t.csv:3");  // a quote left open
  EXPECT_EQ(table_error(header + std::string("\0\1,1,1,bf16,1\n", 15), h100).where, "t.csv:3");
  EXPECT_THAT(table_error("m,n,k,M,time_us\n1,1,1,1,1\n", h100).what, HasSubstr("'M' stands twice"));
  EXPECT_THAT(table_error("kind,bytes,gpus,time_us\nall_reduce,8,1,5\n", h100).what, HasSubstr("1 GPUs"));
  EXPECT_THAT(
      table_error("kind,bytes,gpus,nodes,time_us\nall_reduce,8,8,3,5\n", h100).what, HasSubstr("8 GPUs on 3 nodes"));
  EXPECT_THAT(table_error("kind,bytes,gpus,time_us\nall_reduse,8,8,5\n", h100).hint, HasSubstr("all_reduce"));
}

TEST(ImportTable, what_is_missing_is_said) {
  const ImportOptions h100 = on_gpu("h100-sxm");
  EXPECT_THAT(table_error("m,n,k,dtype,time_us\n1,1,1,bf16,1\n").hint, HasSubstr("--gpu"));
  EXPECT_THAT(table_error("m,n,k,time_us\n1,1,1,1\n", h100).hint, HasSubstr("--precision"));
  EXPECT_THAT(table_error("m,n,k,dtype,latency\n1,1,1,bf16,1\n", h100).hint, HasSubstr("--column time_us=latency"));
  EXPECT_THAT(table_error("m,n,k,dtype,time_us,time_ms\n1,1,1,bf16,1,1\n", h100).what, HasSubstr("both times"));
  EXPECT_THAT(table_error("m,n,k,dtype,gpu,time_us\n1,1,1,bf16,h101,1\n").hint, HasSubstr("h100"));
  EXPECT_THAT(table_error("1,2,3\n4,5,6\n", h100).what, HasSubstr("names of the columns"));
  EXPECT_THAT(table_error("64, 128, 128, 0.19ms\n", h100).what, HasSubstr("names of the columns"));
  EXPECT_THAT(table_error("", h100).what, HasSubstr("empty"));
  EXPECT_THAT(table_error("m,n,k,dtype,time_us\n", h100).what, HasSubstr("no rows"));
  const Error unknown = table_error("batch_size,isl,step,num_heads,head_dims\n1,1,1,1,1\n", h100);
  EXPECT_THAT(unknown.hint, HasSubstr("nearest is aiconfigurator attention"));
  EXPECT_THAT(unknown.hint, HasSubstr("num_key_value_heads, head_dim, time_us"));
}

TEST(ImportTable, rows_can_be_chosen) {
  ImportOptions options = on_gpu("h100-sxm");
  const char* text = "m,n,k,dtype,time_us,run\n1,1,1,bf16,1,a\n2,1,1,bf16,1,b\n";
  options.only = {{"run", "b"}};
  EXPECT_EQ(as<GemmQuery>(table_rows(text, "t.csv", options), 0).m, 2);
  options.only = {{"run", "c"}};
  EXPECT_THAT(table_error(text, options).hint, HasSubstr("a, b"));
  options.only = {{"runs", "b"}};
  EXPECT_THAT(table_error(text, options).hint, HasSubstr("run"));
  EXPECT_THAT(table_error("m,n,k,dtype,gpu,time_us\n1,1,1,bf16,a40,1\n", on_gpu("h100-sxm")).what, HasSubstr("a40"));
}

TEST(ImportTable, is_recognised_by_its_columns) {
  EXPECT_GT(recognise_table("m,n,k,gemm_dtype,latency\n", "x"), recognise_table("m,n,k,dtype,time_us\n", "x"));
  EXPECT_GT(recognise_table("m,n,k,dtype,time_us\n", "x"), 0);
  EXPECT_EQ(recognise_table("{\"a\": 1, \"b\": 2}\n", "x.json"), 0);
  EXPECT_EQ(recognise_table("# nThread 1 nGpus 8\n#\n", "x.txt"), 0);
}

}  // namespace
}  // namespace stepcast::calibrate
