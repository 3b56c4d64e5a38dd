# SPDX-License-Identifier: Apache-2.0
"""A graph convolutional network on CiteSeer in PyTorch, with Lacuna's sparse products.

    Z = S relu(S X W0 + b0) W1 + b1        S = D^-1/2 (A + I) D^-1/2, X: bags of words, rows of sum 1

120 labelled papers, six classes, the public split; dropout, L2 on W0, Adam, 200 epochs. Prints the test accuracy of
each seed and their mean, which must reach 69 %. The graph and the features are both sparse matrices on frozen patterns;
nothing dense of their size is made, and dropout acts on the stored features alone. On a GPU Lacuna copies nothing and
never waits after the first epoch, as the last line shows.

    gcn_torch.py [SEEDS [DEVICE]]        DEVICE: cpu or cuda, which is taken where it is there
"""

import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import lacuna
import lacuna.torch as lt

DATA = Path(__file__).resolve().parents[1] / "data" / "citeseer"
HIDDEN, EPOCHS, RATE, DECAY, DROPOUT = 16, 200, 0.01, 5e-4, 0.5
GOAL = 0.69


def coordinates(path):
    """Rows, columns and shape of a Matrix Market pattern."""
    with open(path) as file:
        next(file)
        rows, cols, _ = map(int, next(file).split())
        entries = np.loadtxt(file, dtype=np.int64) - 1
    return entries[:, 0], entries[:, 1], (rows, cols)


@cache
def neighbours():
    """The pattern of A + I."""
    i, j, shape = coordinates(DATA / "edges.mtx")
    n = np.arange(shape[0])
    return lacuna.Pattern.from_coo(np.concatenate([i, j, n]), np.concatenate([j, i, n]), shape)


@cache
def graph(device):
    """S = D^-1/2 (A + I) D^-1/2 as pattern and values."""
    pattern = neighbours()
    ones, x = torch.ones(pattern.nnz, device=device), torch.ones(pattern.shape[0], device=device)
    root = lt.spmm(pattern, ones, x).rsqrt()
    return pattern, lt.sddmm(pattern, root[:, None], root[:, None])


@cache
def bags(device):
    """The features X as pattern and values: each row has sum 1."""
    i, j, shape = coordinates(DATA / "features.mtx")
    pattern = lacuna.Pattern.from_coo(i, j, shape)
    ones, words = (torch.ones(n, device=device) for n in (pattern.nnz, shape[1]))
    counts = lt.spmm(pattern, ones, words).clamp(min=1)
    return pattern, lt.sddmm(pattern, 1 / counts[:, None], words[:, None])


def papers(device):
    """The labels, and which papers are for training and which for the test."""
    labels = torch.from_numpy(np.loadtxt(DATA / "labels.txt", dtype=np.int64)).to(device)
    words = np.loadtxt(DATA / "split.txt", dtype=str)
    return labels, {name: torch.from_numpy(np.flatnonzero(words == name)).to(device) for name in ("train", "test")}


class Network(torch.nn.Module):
    def __init__(self, graph, features, classes):
        super().__init__()
        (self.s_pattern, self.s), (self.x_pattern, self.x) = graph, features
        self.w0 = torch.nn.Parameter(torch.empty(self.x_pattern.shape[1], HIDDEN))
        self.w1 = torch.nn.Parameter(torch.empty(HIDDEN, classes))
        self.b0 = torch.nn.Parameter(torch.zeros(HIDDEN))
        self.b1 = torch.nn.Parameter(torch.zeros(classes))
        for w in (self.w0, self.w1):
            torch.nn.init.xavier_uniform_(w)

    def forward(self):
        x = F.dropout(self.x, DROPOUT, self.training)
        h = lt.spmm(self.s_pattern, self.s, lt.spmm(self.x_pattern, x, self.w0)) + self.b0
        h = F.dropout(h.relu(), DROPOUT, self.training)
        return lt.spmm(self.s_pattern, self.s, h @ self.w1) + self.b1


def transfers():
    """Bytes that Lacuna has copied between the host and GPUs, and how often it has waited for one."""
    stats = lacuna.memory_stats("cuda")
    return np.array([stats["to_host_bytes"] + stats["to_device_bytes"], stats["waits"]])


def fit(network, adam, labels, split, epochs):
    """Trains the network; gives its accuracy, and its transfers after the first epoch, in which indices travel."""
    for epoch in range(epochs):
        if epoch == 1:
            before = transfers()
        adam.zero_grad()
        F.cross_entropy(network()[split["train"]], labels[split["train"]]).backward()
        adam.step()
    moved = transfers() - before
    network.eval()
    with torch.no_grad():
        guess = network().argmax(1)
    return (guess == labels)[split["test"]].float().mean().item(), moved


def train(seed, device, labels, split, epochs=EPOCHS):
    torch.manual_seed(seed)
    network = Network(graph(device), bags(device), int(labels.max()) + 1).to(device)
    adam = torch.optim.Adam([network.w0], lr=RATE, weight_decay=DECAY)
    adam.add_param_group({"params": [network.w1, network.b0, network.b1], "weight_decay": 0})
    return fit(network, adam, labels, split, epochs)


def main(train, goal, seeds=10, device="cuda" if torch.cuda.is_available() else "cpu"):
    data, accuracy, moved = papers(device), [], np.zeros(2, int)
    for seed in range(int(seeds)):
        begin = time.perf_counter()
        result = train(seed, device, *data)
        accuracy.append(result[0])
        moved += result[1]
        print(f"seed {seed}: test accuracy {result[0]:.1%} in {time.perf_counter() - begin:.1f} s", flush=True)
    mean = sum(accuracy) / len(accuracy)
    print(f"mean of {seeds} seeds on {device}: {mean:.2%}")
    print(f"training after the first epoch: {moved[0]} bytes were copied between host and GPU, {moved[1]} waits")
    sys.exit(bool(mean < goal or moved.any()))


if __name__ == "__main__":
    main(train, GOAL, *sys.argv[1:])
