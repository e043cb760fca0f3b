"""Train the network in pieces: each goes on from the checkpoint of the last.

    python prior/train.py --seconds 500 --total 1500 --out build/prior

The rate of learning follows the share of `--total` seconds that all pieces together
have used, so that pieces add up to one training. On a GPU, layers are compiled, and a
step is recorded for each of some shapes of tables and then replayed.
"""

# SPDX-License-Identifier: BSD-3-Clause

import argparse
import copy
import csv
import math
import time
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from draw import Sizes, draw_labels, draw_sizes, draw_tables
from muon import Muon
from network import PAIR, PriorNetwork
from real import RealTables
from torch import Tensor
from torch.nn import functional

VALIDATION_SEED = 1_000_003
# Between two looks at the validation tables, and between two checkpoints, in seconds.
LOOK = 20
SAVE = 100


@dataclass
class Batch:
    """Tables of one shape: what the network sees, and what it is asked.

    Attributes
    ----------
    cells, marks : Tensor
        Inputs of the network.
    truth : Tensor of int of shape (n_tables, n_rows)
        Classes.
    asked : Tensor of shape (n_tables, n_rows)
        One at rows without a label whose class has one.
    known : Tensor of bool of shape (n_tables, n_classes)
        Classes with a label.
    """

    cells: Tensor
    marks: Tensor
    truth: Tensor
    asked: Tensor
    known: Tensor

    def tensors(self):
        """All of them."""
        return [getattr(self, field.name) for field in fields(self)]

    def split(self, size):
        """Cut into smaller ones, the mechanisms mixed."""
        order = torch.randperm(self.truth.shape[0], device=self.truth.device)
        return [
            Batch(*(tensor[part] for tensor in self.tensors()))
            for part in order.split(size)
        ]


def as_batch(tables, kind):
    """Hide the classes of rows without a label."""
    n_labeled, C = tables.n_labeled, tables.n_classes
    hot = functional.one_hot(tables.classes, C)
    marks = hot.clone()
    marks[:, n_labeled:] = 2
    known = hot[:, :n_labeled].any(1)
    asked = known.gather(1, tables.classes).to(torch.float32)
    asked[:, :n_labeled] = 0
    return Batch(tables.cells.to(kind), marks, tables.classes, asked, known)


class Trainer:
    """The weights, their averages and the steps.

    Parameters
    ----------
    given : Namespace
        Options.
    device : device
        Where.
    """

    def __init__(self, given, device):
        network = PriorNetwork(
            size=given.size,
            n_layers=given.layers,
            n_heads=given.size // 32,
            hidden=2 * given.size,
        ).to(device)
        self.network = network
        self.average = copy.deepcopy(network)
        self.rate = torch.zeros((), device=device)
        self.loss = torch.zeros((), device=device)
        self.base = given.rate
        matrices = [
            p for n, p in network.named_parameters() if p.ndim == 2 and "layers" in n
        ]
        chosen = {id(p) for p in matrices}
        rest = [p for p in network.parameters() if id(p) not in chosen]
        self.optimizers = [
            Muon(matrices, self.rate),
            torch.optim.AdamW(
                rest, self.rate, betas=(0.9, 0.98), weight_decay=0.0,
                capturable=device.type == "cuda",
            ),
        ]  # fmt: skip
        self.steps, self.seconds, self.tables = 0, 0.0, 0
        # Steps are taken in single precision, gradients computed in half of it.
        self.rough = copy.deepcopy(network).to(torch.bfloat16)
        self.exact = list(network.parameters())
        self.loose = list(self.rough.parameters())
        for weight in self.exact:
            weight.grad = torch.zeros_like(weight)
        self.gradients = [weight.grad for weight in self.exact]
        if given.compile and device.type == "cuda":
            torch._dynamo.config.recompile_limit = 64
            torch.fx.experimental._config.use_duck_shape = False
            for layer in self.rough.layers:
                layer.compile(dynamic=True)

    def load(self, path, device):
        """Go on from a checkpoint."""
        state = torch.load(path, map_location=device, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.average.load_state_dict(state["average"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)
            for group in optimizer.param_groups:
                group["lr"] = self.rate
        self.steps, self.tables = state["steps"], state["tables"]
        self.seconds = state["seconds"]

    def save(self, folder, seconds, lines):
        """Write a checkpoint, the weights alone, and the curve."""
        state = {
            "settings": self.network.settings,
            "network": self.network.state_dict(),
            "average": self.average.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "steps": self.steps,
            "seconds": seconds,
            "tables": self.tables,
        }
        half = {k: v.half() for k, v in self.average.state_dict().items()}
        weights = {"settings": self.network.settings, "average": half}
        for name, content in (("checkpoint.pt", state), ("weights.pt", weights)):
            torch.save(content, folder / f"{name}.part")
            (folder / f"{name}.part").replace(folder / name)
        if lines:
            with (folder / "curve.csv").open("w", newline="") as file:
                writer = csv.DictWriter(file, list(lines[0]))
                writer.writeheader()
                writer.writerows(lines)

    def step(self, batch, n_context):
        """Take one step; nothing in it waits for the device."""
        with torch.no_grad():
            torch._foreach_copy_(self.loose, self.exact)
        loss = loss_of(self.rough, batch, n_context)
        loss.backward()
        torch._foreach_copy_(self.gradients, [weight.grad for weight in self.loose])
        for weight in self.loose:
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self.exact, 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), self.exact, 1e-3)
            self.loss += loss.detach()


class Recorded:
    """A step for batches of one shape, recorded once and replayed.

    Parameters
    ----------
    trainer : Trainer
        Takes the step.
    batch : Batch
        A first batch, whose memory those to come are copied to.
    n_context : int
        Rows to look at.
    pool : handle or None
        Memory of all recordings, none of which run at once.
    """

    def __init__(self, trainer, batch, n_context, pool):
        self.batch = batch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            trainer.step(batch, n_context)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            trainer.step(batch, n_context)

    def __call__(self, batch):
        torch._foreach_copy_(self.batch.tensors(), batch.tensors())
        self.graph.replay()


def main():
    """Train one piece."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=500, help="of this piece")
    parser.add_argument("--total", type=float, default=1500, help="of all pieces")
    parser.add_argument("--out", type=Path, default=Path("build/prior"))
    parser.add_argument("--start", type=Path, help="checkpoint of the last piece")
    parser.add_argument("--tokens", type=int, default=160_000, help="of a step")
    parser.add_argument("--repeat", type=int, default=4, help="steps drawn at once")
    parser.add_argument("--shapes", type=int, default=48, help="of tables")
    parser.add_argument("--max-rows", type=int, default=560)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--real", type=Path, help="real tables, from collect.py")
    parser.add_argument("--real-share", type=float, default=0.4, help="at most")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    torch.backends.cuda.enable_cudnn_sdp(False)  # fails on short sequences
    trainer = Trainer(given, device)
    if given.start is not None:
        trainer.load(given.start, device)
    torch.manual_seed(given.seed + trainer.steps)
    rng = np.random.RandomState(given.seed + trainer.steps)
    n_weights = sum(p.numel() for p in trainer.exact)
    print(f"{n_weights} weights, {device}, from step {trainer.steps}", flush=True)
    real = RealTables(given.real, device) if given.real else None
    checked = validation_tables(device)
    shapes = [draw_sizes(rng, given.max_rows) for _ in range(given.shapes)]
    counts = [max(4, given.tokens // tokens_of(sizes)) for sizes in shapes]
    start = time.perf_counter()
    recorded = record(trainer, shapes, counts, device)
    print(f"{len(shapes)} shapes, {time.perf_counter() - start:.0f} s", flush=True)
    begun = looked = saved = time.perf_counter()
    lines, first = [], trainer.steps
    while (now := time.perf_counter()) - begun < given.seconds:
        seconds = trainer.seconds + now - begun
        rate = learning_rate(min(1.0, seconds / given.total), trainer.steps)
        trainer.rate.fill_(trainer.base * rate)
        k = rng.randint(len(shapes))
        sizes = draw_labels(shapes[k], rng)
        drawn = draw_tables(
            counts[k] * given.repeat, sizes, device, real=real, share=given.real_share
        )
        for batch in as_batch(drawn, torch.bfloat16).split(counts[k]):
            recorded[k](batch)
        trainer.steps += given.repeat
        trainer.tables += counts[k] * given.repeat
        if now - looked > LOOK:
            mean = trainer.loss.item() / (trainer.steps - first)
            trainer.loss.zero_()
            looked, first = now, trainer.steps
            line = {
                "seconds": round(seconds), "steps": trainer.steps,
                "tables": trainer.tables, "loss": round(mean, 4),
                **validate(trainer.average, checked),
            }  # fmt: skip
            lines.append(line)
            print(line, f"rate {rate:.3f}", flush=True)
            if not math.isfinite(mean):
                raise SystemExit("the loss is not finite")
        if now - saved > SAVE:
            saved = now
            trainer.save(given.out, seconds, lines)
    seconds = trainer.seconds + time.perf_counter() - begun
    trainer.save(given.out, seconds, lines)
    print(f"{trainer.steps} steps, {trainer.tables} tables, {seconds:.0f} s")


def tokens_of(sizes):
    """Tokens of a table."""
    return sizes.n_rows * (-(-sizes.n_columns // PAIR) + sizes.n_classes)


def record(trainer, shapes, counts, device):
    """Make a function of each shape that takes a step."""
    if device.type != "cuda":
        return [
            lambda batch, sizes=sizes: trainer.step(batch, sizes.n_context)
            for sizes in shapes
        ]
    pool, made = torch.cuda.graph_pool_handle(), []
    for sizes, count in zip(shapes, counts, strict=True):
        batch = as_batch(draw_tables(count, sizes, device), torch.bfloat16)
        made.append(Recorded(trainer, batch, sizes.n_context, pool))
    torch.cuda.synchronize()
    trainer.loss.zero_()
    return made


def learning_rate(share, steps):
    """Warm up, then stay, then fall to a hundredth over the last 40 %."""
    warm = min(1.0, (steps + 1) / 300)
    return warm * min(1.0, max(0.01, (1 - share) / 0.4))


def loss_of(model, batch, n_context):
    """Cross-entropy on the rows that are asked."""
    each = losses(model, batch, n_context)[0]
    return (each * batch.asked).sum() / batch.asked.sum().clamp(min=1)


def losses(model, batch, n_context):
    """Cross-entropy of every row, and logits."""
    logits = model(batch.cells, batch.marks, n_context).float()
    logits = logits.masked_fill(~batch.known[:, None], -1e4)
    each = functional.cross_entropy(
        logits.transpose(1, 2), batch.truth, reduction="none"
    )
    return each, logits


def validation_tables(device, n=50):
    """Two hundred tables of fixed sizes, the same in all runs on one device."""
    state = (
        torch.get_rng_state(),
        torch.cuda.get_rng_state() if device.type == "cuda" else None,
    )
    torch.manual_seed(VALIDATION_SEED)
    shapes = [(2, 10, 6), (3, 20, 9), (5, 12, 50), (2, 30, 40)]
    drawn = [
        draw_tables(n, Sizes(300, F, C, labeled, 300, C != 2 or labeled == 6), device)
        for C, F, labeled in shapes
    ]
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state(state[1])
    return [(as_batch(tables, torch.float32), tables.n_labeled) for tables in drawn]


@torch.no_grad()
def validate(network, checked):
    """Mean loss and error over the validation tables."""
    found, errors = [], []
    for batch, n_labeled in checked:
        each, logits = losses(network, batch, batch.truth.shape[1])
        found.append((each * batch.asked).sum() / batch.asked.sum())
        wrong = (logits.argmax(2) != batch.truth)[:, n_labeled:]
        errors.append(wrong.float().mean())
    return {
        "validation_loss": round(torch.stack(found).mean().item(), 4),
        "validation_error": round(100 * torch.stack(errors).mean().item(), 2),
    }


if __name__ == "__main__":
    main()
