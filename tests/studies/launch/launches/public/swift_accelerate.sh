accelerate launch --config_file accelerate/swift_zero3.yaml --machine_rank 0 swift/cli/sft.py \
  --model Qwen/Qwen2.5-7B-Instruct --tuner_type lora --lora_rank 8 --lora_alpha 32 --torch_dtype bfloat16 \
  --dataset self --gradient_accumulation_steps 16 --learning_rate 1e-4
