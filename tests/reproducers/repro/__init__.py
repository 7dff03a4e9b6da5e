"""What every page of the regression suite shares; needs torch, numpy and pytest, nothing else."""
