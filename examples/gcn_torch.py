# SPDX-License-Identifier: Apache-2.0
"""A graph convolutional network on CiteSeer in PyTorch, with Lacuna's sparse products.

    Z = S relu(S X W0 + b0) W1 + b1        S = D^-1/2 (A + I) D^-1/2, X: bags of words, rows of sum 1

120 labelled papers, six classes, the public split; dropout, L2 on W0, Adam, 200 epochs. Prints the test accuracy of
each seed and their mean, which must reach 69 %. The graph and the features are both sparse matrices on frozen patterns;
nothing dense of their size is made, and dropout acts on the stored features alone.

    gcn_torch.py [SEEDS]
"""

import sys
import time
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


def graph():
    """S = D^-1/2 (A + I) D^-1/2 as pattern and values."""
    i, j, shape = coordinates(DATA / "edges.mtx")
    n = np.arange(shape[0])
    pattern = lacuna.Pattern.from_coo(np.concatenate([i, j, n]), np.concatenate([j, i, n]), shape)
    ones = torch.ones(pattern.nnz)
    root = lt.spmm(pattern, ones, torch.ones(shape[0])).rsqrt()
    return pattern, lt.sddmm(pattern, root[:, None], root[:, None])


def bags():
    """The features X as pattern and values: each row has sum 1."""
    i, j, shape = coordinates(DATA / "features.mtx")
    pattern = lacuna.Pattern.from_coo(i, j, shape)
    counts = lt.spmm(pattern, torch.ones(pattern.nnz), torch.ones(shape[1])).clamp(min=1)
    return pattern, lt.sddmm(pattern, 1 / counts[:, None], torch.ones(shape[1], 1))


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


def train(seed, graph, features, labels, split):
    torch.manual_seed(seed)
    network = Network(graph, features, int(labels.max()) + 1)
    decayed = [{"params": [network.w0], "weight_decay": DECAY}, {"params": [network.w1, network.b0, network.b1]}]
    adam = torch.optim.Adam(decayed, lr=RATE)
    for _ in range(EPOCHS):
        adam.zero_grad()
        F.cross_entropy(network()[split["train"]], labels[split["train"]]).backward()
        adam.step()
    network.eval()
    with torch.no_grad():
        guess = network().argmax(1)
    return (guess == labels)[split["test"]].float().mean().item()


def main(seeds):
    labels = torch.from_numpy(np.loadtxt(DATA / "labels.txt", dtype=np.int64))
    words = np.loadtxt(DATA / "split.txt", dtype=str)
    split = {name: torch.from_numpy(np.flatnonzero(words == name)) for name in ("train", "test")}
    data, accuracy = (graph(), bags()), []
    for seed in range(seeds):
        begin = time.perf_counter()
        accuracy.append(train(seed, *data, labels, split))
        print(f"seed {seed}: test accuracy {accuracy[-1]:.1%} in {time.perf_counter() - begin:.1f} s", flush=True)
    mean = sum(accuracy) / seeds
    print(f"mean of {seeds} seeds: {mean:.2%}")
    sys.exit(mean < GOAL)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
