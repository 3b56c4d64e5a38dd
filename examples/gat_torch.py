# SPDX-License-Identifier: Apache-2.0
"""A graph attention network on CiteSeer in PyTorch, with Lacuna's sparse products and softmax over neighbours.

    e_ij  = leaky_relu(l . h_i + r . h_j)       for every entry (i, j) of A + I, in each head
    alpha = softmax of e over each row          segment_softmax
    y     = alpha h                             spmm: the attention is the values of a matrix

Two layers, h = X W; 120 labelled papers, six classes, the public split; dropout, also of the attention, L2 and Adam.
Prints the test accuracy of each seed and their mean, which must reach 68 %. Scores, weights and their gradients have
one number for each edge and head, and nothing larger is made. On a GPU Lacuna copies nothing and never waits after the
first epoch, as the last line shows.

    gat_torch.py [SEEDS [DEVICE]]        DEVICE: cpu or cuda, which is taken where it is there
"""

import sys

import torch
import torch.nn.functional as F
from gcn_torch import bags, fit, main, neighbours

import lacuna.torch as lt

HEADS, HIDDEN, EPOCHS, RATE, DECAY, DROPOUT, SLOPE = 8, 8, 100, 0.01, 5e-4, 0.6, 0.2
GOAL, SEEDS = 0.68, 2


class Attention(torch.nn.Module):
    """(heads, n, k) from what each paper is, times W, by what its neighbours are."""

    def __init__(self, pattern, heads, ins, outs):
        super().__init__()
        self.pattern, self.rows, self.cols = pattern, pattern.row_map(), pattern.col_map()
        shapes = {"weight": (heads, ins, outs), "left": (heads, outs, 1), "right": (heads, outs, 1)}
        for name, shape in shapes.items():
            self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))
            for head in self.get_parameter(name):
                torch.nn.init.xavier_uniform_(head)

    def forward(self, times):
        h = times(self.weight)
        e = lt.gather(self.rows, h @ self.left) + lt.gather(self.cols, h @ self.right)
        alpha = lt.segment_softmax(self.rows, F.leaky_relu(e.squeeze(-1), SLOPE))
        return lt.spmm(self.pattern, F.dropout(alpha, DROPOUT, self.training), F.dropout(h, DROPOUT, self.training))


class Network(torch.nn.Module):
    def __init__(self, pattern, features, classes):
        super().__init__()
        self.x_pattern, self.x = features
        self.first = Attention(pattern, HEADS, self.x_pattern.shape[1], HIDDEN)
        self.second = Attention(pattern, 1, HEADS * HIDDEN, classes)

    def forward(self):
        x = F.dropout(self.x, DROPOUT, self.training)
        h = F.elu(self.first(lambda w: lt.spmm(self.x_pattern, x, w)))
        h = F.dropout(h.transpose(0, 1).flatten(1), DROPOUT, self.training)
        return self.second(lambda w: h @ w)[0]


def train(seed, device, labels, split, epochs=EPOCHS):
    torch.manual_seed(seed)
    network = Network(neighbours(), bags(device), int(labels.max()) + 1).to(device)
    adam = torch.optim.Adam(network.parameters(), lr=RATE, weight_decay=DECAY)
    return fit(network, adam, labels, split, epochs)


if __name__ == "__main__":
    main(train, GOAL, *(sys.argv[1:] or [str(SEEDS)]))
