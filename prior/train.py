"""Train the network in pieces: each goes on from the checkpoint of the last.

    python prior/train.py --seconds 500 --total 1500 --out build/prior

The rate of learning follows the share of `--total` seconds that all pieces together
have used, so that pieces add up to one training.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import copy
import csv
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from draw import Sizes, draw_sizes, draw_tables
from muon import Muon
from network import PriorNetwork
from torch.nn import functional

VALIDATION_SEED = 1_000_003


def main():
    """Train one piece."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=500, help="of this piece")
    parser.add_argument("--total", type=float, default=1500, help="of all pieces")
    parser.add_argument("--out", type=Path, default=Path("build/prior"))
    parser.add_argument("--start", type=Path, help="checkpoint of the last piece")
    parser.add_argument("--tokens", type=int, default=150_000, help="of a step")
    parser.add_argument("--repeat", type=int, default=4, help="steps drawn at once")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--optimizer", choices=["adam", "muon"], default="muon")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.enable_cudnn_sdp(False)  # fails on short sequences
    torch.manual_seed(given.seed)
    rng = np.random.RandomState(given.seed)
    network = PriorNetwork(
        size=given.size,
        n_layers=given.layers,
        n_heads=given.size // 32,
        hidden=2 * given.size,
    ).to(device)
    state = None
    if given.start is not None:
        state = torch.load(given.start, map_location=device, weights_only=True)
        network.load_state_dict(state["network"])
        torch.manual_seed(given.seed + state["steps"])
        rng = np.random.RandomState(given.seed + state["steps"])
    average = copy.deepcopy(network)
    optimizers = make_optimizers(network, given)
    steps, used, seen = 0, 0.0, 0
    if state is not None:
        average.load_state_dict(state["average"])
        for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
        steps, used, seen = state["steps"], state["seconds"], state["tables"]
    # Steps are taken in single precision, gradients computed in half of it.
    rough = copy.deepcopy(network).to(torch.bfloat16)
    exact, loose = list(network.parameters()), list(rough.parameters())
    for weight in exact:
        weight.grad = torch.zeros_like(weight)
    gradients = [weight.grad for weight in exact]
    n_weights = sum(p.numel() for p in network.parameters())
    print(f"{n_weights} weights, {device}, from step {steps}", flush=True)
    tables = validation_tables(device)
    begun, last, running = time.perf_counter(), 0.0, []
    lines, waiting = [], []
    while (passed := time.perf_counter() - begun) < given.seconds:
        share = min(1.0, (used + passed) / given.total)
        rate = learning_rate(share, steps)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * rate
        if not waiting:
            sizes = draw_sizes(rng, max_rows=150 + round(490 * min(1, share / 0.5)))
            per_table = sizes.n_rows * (sizes.n_columns + sizes.n_classes)
            n_tables = max(4, given.tokens // per_table)
            waiting = split(
                draw_tables(n_tables * given.repeat, sizes, device), n_tables
            )
        batch = waiting.pop()
        with torch.no_grad():
            torch._foreach_copy_(loose, exact)
        loss = loss_of(rough, batch)
        loss.backward()
        torch._foreach_copy_(gradients, [weight.grad for weight in loose])
        for weight in loose:
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(exact, 1.0)
        for optimizer in optimizers:
            optimizer.step()
        steps, seen = steps + 1, seen + n_tables
        with torch.no_grad():
            keep = min(0.999, steps / (steps + 20))
            torch._foreach_lerp_(
                list(average.parameters()), list(network.parameters()), 1 - keep
            )
        running.append(loss.detach())
        if passed - last > 20:
            last = passed
            mean = torch.stack(running).mean().item()
            running = []
            line = {
                "seconds": round(used + passed), "steps": steps, "tables": seen,
                "loss": round(mean, 4),
                **validate(average, tables),
            }  # fmt: skip
            lines.append(line)
            print(line, f"lr {rate:.3f}", flush=True)
            if not math.isfinite(mean):
                raise SystemExit("the loss is not finite")
    used += time.perf_counter() - begun
    checkpoint = {
        "settings": network.settings,
        "network": network.state_dict(),
        "average": average.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in optimizers],
        "steps": steps,
        "seconds": used,
        "tables": seen,
    }
    torch.save(checkpoint, given.out / "checkpoint.pt")
    half = {k: v.half() for k, v in average.state_dict().items()}
    torch.save(
        {"settings": network.settings, "average": half}, given.out / "weights.pt"
    )
    with (given.out / f"curve_{steps}.csv").open("w", newline="") as file:
        if lines:
            writer = csv.DictWriter(file, list(lines[0]))
            writer.writeheader()
            writer.writerows(lines)
    print(f"{steps} steps, {seen} tables, {used:.0f} s", flush=True)


def make_optimizers(network, given):
    """Adam for all, or Muon for the matrices of the layers and Adam for the rest."""
    matrices = [
        p for n, p in network.named_parameters() if p.ndim == 2 and "layers" in n
    ]
    chosen = {id(p) for p in matrices}
    rest = [p for p in network.parameters() if id(p) not in chosen]
    if given.optimizer == "adam":
        groups = [
            {"params": matrices, "weight_decay": 0.01},
            {"params": rest, "weight_decay": 0.0},
        ]
        made = [torch.optim.AdamW(groups, given.rate, betas=(0.9, 0.98), fused=True)]
    else:
        made = [
            Muon(matrices, given.rate),
            torch.optim.AdamW(
                rest, given.rate, betas=(0.9, 0.98), fused=True, weight_decay=0.0
            ),
        ]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["base"] = given.rate
    return made


def learning_rate(share, steps):
    """Warm up, then stay, then fall to a hundredth over the last 40 %."""
    warm = min(1.0, (steps + 1) / 300)
    return warm * min(1.0, max(0.01, (1 - share) / 0.4))


def loss_of(model, batch):
    """Cross-entropy on the rows without a label whose class has one."""
    logits = answers(model, batch)
    known, truth = known_classes(batch), batch.classes[:, batch.n_labeled :]
    logits = logits[:, batch.n_labeled :].masked_fill(~known[:, None], -1e4)
    counts = known.gather(1, truth)
    losses = functional.cross_entropy(logits.transpose(1, 2), truth, reduction="none")
    return (losses * counts).sum() / counts.sum().clamp(min=1)


def answers(model, batch):
    """Logits of a batch, in the precision of the network."""
    cells = batch.cells.to(model.out.weight.dtype)
    return model(
        cells, batch.classes, batch.n_labeled, batch.n_context, batch.n_classes
    ).float()


def split(batch, size):
    """Cut a batch into smaller ones, the rows of mechanisms mixed."""
    order = torch.randperm(batch.classes.shape[0], device=batch.classes.device)
    return [
        replace(batch, cells=batch.cells[part], classes=batch.classes[part])
        for part in order.split(size)
    ]


def known_classes(batch):
    """Which classes have a label, by table."""
    labels = functional.one_hot(batch.classes[:, : batch.n_labeled], batch.n_classes)
    return labels.any(1)


def validation_tables(device, n=50):
    """Two hundred tables of fixed sizes, the same in all runs on one device."""
    state = (
        torch.get_rng_state(),
        torch.cuda.get_rng_state() if device.type == "cuda" else None,
    )
    torch.manual_seed(VALIDATION_SEED)
    shapes = [(2, 10, 6), (3, 20, 9), (5, 12, 50), (2, 30, 40)]
    batches = [
        draw_tables(n, Sizes(300, F, C, labeled, 300, C != 2 or labeled == 6), device)
        for C, F, labeled in shapes
    ]
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1])
    return batches


@torch.no_grad()
def validate(network, tables):
    """Mean loss and error over the validation tables."""
    losses, errors = [], []
    for batch in tables:
        logits = answers(network, batch)
        known = known_classes(batch)
        logits = logits.masked_fill(~known[:, None], -1e4)[:, batch.n_labeled :]
        truth = batch.classes[:, batch.n_labeled :]
        seen = known.gather(1, truth)
        each = functional.cross_entropy(logits.transpose(1, 2), truth, reduction="none")
        losses.append((each * seen).sum() / seen.sum())
        errors.append((logits.argmax(2) != truth).float().mean())
    return {
        "validation_loss": round(torch.stack(losses).mean().item(), 4),
        "validation_error": round(100 * torch.stack(errors).mean().item(), 2),
    }


if __name__ == "__main__":
    main()
