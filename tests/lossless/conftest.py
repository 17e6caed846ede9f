import torch


def pytest_configure():
    torch.set_num_threads(1)
