JOB_NAME = "7b_train"
HIDDEN_SIZE = 4096
model = dict(hidden_size=HIDDEN_SIZE, num_layers=32, mlp_ratio=8 / 3, dtype="torch.bfloat16")
parallel = dict(zero1=dict(size=-1), tensor=dict(size=1, mode="mtp"), pipeline=dict(size=1))
