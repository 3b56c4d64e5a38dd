# SPDX-License-Identifier: Apache-2.0
"""Networks of examples/ on the device: after the first epoch nothing travels between it and the host."""

import importlib
from pathlib import Path

import pytest
import torch

from lacuna._core import lib, text

has_cuda = torch.cuda.is_available() and "cuda" in text(lib.lac_backends()).split()
pytestmark = pytest.mark.skipif(not has_cuda, reason="no CUDA device, or liblacuna_cuda.so is missing")


@pytest.mark.parametrize("name", ["gcn_torch", "gat_torch"])
def test_networks_learn_on_cuda_without_a_transfer(name, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "examples"))
    papers, example = importlib.import_module("gcn_torch").papers("cuda"), importlib.import_module(name)
    accuracy, moved = example.train(0, "cuda", *papers, epochs=60)
    assert moved.tolist() == [0, 0], "bytes that were copied, and waits"
    assert accuracy > 0.6
