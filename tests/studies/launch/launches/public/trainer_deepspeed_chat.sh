ZERO_STAGE=$2
if [ "$ZERO_STAGE" == "" ]; then
    ZERO_STAGE=3
fi
deepspeed main.py \
   --data_path Dahoas/rm-static Dahoas/full-hh-rlhf \
   --data_split 2,4,4 \
   --model_name_or_path meta-llama/Llama-2-7b-hf \
   --per_device_train_batch_size 4 \
   --max_seq_len 512 \
   --gradient_accumulation_steps 1 \
   --num_warmup_steps 0 \
   --gradient_checkpointing \
   --zero_stage $ZERO_STAGE \
   --deepspeed
