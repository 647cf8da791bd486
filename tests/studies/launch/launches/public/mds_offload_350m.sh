# the file of DeepSpeed is made of another one
NAME=gpt-350m
BATCH_SIZE=2
template_json="ds_config_TEMPLATE.json"
config_json="ds_config_${NAME}.json"
sed "s/CONFIG_BATCH_SIZE/256/" ${template_json} \
    | sed "s/CONFIG_MBSIZE/${BATCH_SIZE}/" \
    | sed "s/CONFIG_FP16_ENABLED/false/" \
    | sed "s/CONFIG_BF16_ENABLED/true/" \
    | sed "s/CONFIG_CL_MIN/${CL_START}/" \
	  > ${config_json}
deepspeed pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2_048 \
    --max-position-embeddings 2048 --micro-batch-size ${BATCH_SIZE} --global-batch-size 256 --vocab-size 50304 \
    --bf16 --no-pipeline-parallel --deepspeed --deepspeed_config ${config_json}
