"""Reads a picture without the networks or the painter: regions by colour, kinds by silhouette.

The picture is cut into regions of even colour (Felzenszwalb and Huttenlocher 2004). Neighbouring regions of one
named colour make a blob; what spans the picture is land or sky. A blob's outline is compared with plain silhouettes of the
kinds, drawn here from circles and polygons. Terrain, time, weather and season are those of the nearest reference pictures by the
colours and edges of eight bands.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage

GRID = 28
SKY, GROUND = ("balloon", "kite", "sun", "moon", "star"), ("house", "tree", "tent", "boat")


@dataclass
class Blob:
    colour: str
    kinds: tuple[str, ...]  # sun and moon can look alike
    likeness: float  # 0…1
    x: float  # centre, as shares of the picture
    y: float
    area: float


def lab(picture: np.ndarray) -> np.ndarray:
    """sRGB u8 → OKLab, about 0…1 in lightness."""
    c = picture.astype(np.float32) / 255
    c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    m1 = np.array(
        [[0.4122215, 0.5363325, 0.0514460], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
    )
    m2 = np.array(
        [[0.2104543, 0.7936178, -0.0040720], [1.9779985, -2.4285922, 0.4505937], [0.0259040, 0.7827718, -0.8086758]]
    )
    return (np.cbrt(c @ m1.T.astype(np.float32)) @ m2.T.astype(np.float32)).astype(np.float32)


HUES = {"red": 27, "orange": 58, "yellow": 92, "green": 148, "blue": 261, "purple": 309, "pink": 358}
"""OKLab hue angles of the named colours, degrees."""


def name_of(mean: np.ndarray, ambient: float) -> str:
    """The name of a region's colour; `ambient` is how light the picture is."""
    lightness, chroma = mean[0], float(np.hypot(mean[1], mean[2]))
    hue = float(np.degrees(np.arctan2(mean[2], mean[1]))) % 360
    if chroma < 0.045 or (chroma < 0.07 and lightness > 0.8):
        return "white" if lightness > 0.45 + 0.35 * ambient else "black" if lightness < 0.38 else "grey"
    if lightness < 0.30 and chroma < 0.07:
        return "black"
    names = {n: abs((hue - h + 180) % 360 - 180) for n, h in HUES.items()}
    if 330 < hue or hue < 35:
        return "pink" if lightness > 0.63 + 0.02 * ambient and chroma < 0.19 else "red"
    return min(names, key=names.get)


def regions(picture: np.ndarray, scale: float, least: int = 10) -> np.ndarray:
    """Labels of even regions, by merging along edges from the weakest on."""
    x = lab(picture)
    high, wide = x.shape[:2]
    index = np.arange(high * wide).reshape(high, wide)
    pairs, weights = [], []
    for dy, dx in ((0, 1), (1, 0), (1, 1)):
        a, b = index[: high - dy, : wide - dx], index[dy:, dx:]
        difference = x[: high - dy, : wide - dx] - x[dy:, dx:]
        pairs.append(np.stack([a.ravel(), b.ravel()], 1))
        weights.append(np.sqrt((difference**2).sum(2)).ravel())
    pairs, weights = np.concatenate(pairs), np.concatenate(weights)
    order = np.argsort(weights, kind="stable")
    parent, size, inner = list(range(high * wide)), [1] * (high * wide), [0.0] * (high * wide)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for (a, b), w in zip(pairs[order].tolist(), weights[order].tolist()):
        a, b = root(a), root(b)
        if a != b and w <= min(inner[a] + scale / size[a], inner[b] + scale / size[b]):
            parent[b] = a
            size[a] += size[b]
            inner[a] = w
    for a, b in pairs[order].tolist():
        a, b = root(a), root(b)
        if a != b and (size[a] < least or size[b] < least):
            parent[b] = a
            size[a] += size[b]
    roots = np.array([root(i) for i in range(high * wide)])
    return np.unique(roots, return_inverse=True)[1].reshape(high, wide)


def silhouettes() -> dict[str, list[tuple[np.ndarray, float]]]:
    """For each kind its outlines on the grid, each with width over height."""
    made: dict[str, list[tuple[np.ndarray, float]]] = {}

    def add(kind: str, aspect: float, draw) -> None:
        image = Image.new("L", (GRID * 8, GRID * 8))
        draw(ImageDraw.Draw(image), GRID * 8 - 1)
        made.setdefault(kind, []).append((np.asarray(image.resize((GRID, GRID), Image.BOX)) / 255.0, aspect))

    def shape(*points: tuple[float, float]):
        return lambda d, n: d.polygon([(x * n, y * n) for x, y in points], fill=255)

    def disc(d: ImageDraw.ImageDraw, n: int) -> None:
        d.ellipse((0, 0, n, n), fill=255)

    def crescent(d: ImageDraw.ImageDraw, n: int) -> None:
        d.ellipse((0, 0, 1.08 * n, n), fill=255)
        d.ellipse((0.36 * n, -0.06 * n, 1.36 * n, 0.8 * n), fill=0)

    def drop(d: ImageDraw.ImageDraw, n: int) -> None:
        d.ellipse((0, 0, n, 0.86 * n), fill=255)
        d.polygon([(0.06 * n, 0.6 * n), (0.36 * n, n), (0.64 * n, n), (0.94 * n, 0.6 * n)], fill=255)

    def sail(d: ImageDraw.ImageDraw, n: int) -> None:
        d.polygon([(0.54 * n, 0), (0.78 * n, 0.3 * n), (0.92 * n, 0.7 * n), (0.54 * n, 0.7 * n)], fill=255)
        d.polygon([(0, 0.74 * n), (n, 0.74 * n), (0.75 * n, n), (0.2 * n, n)], fill=255)

    def hull(d: ImageDraw.ImageDraw, n: int) -> None:
        d.polygon([(0, 0), (n, 0), (0.75 * n, n), (0.2 * n, n)], fill=255)

    def crown(d: ImageDraw.ImageDraw, n: int) -> None:
        for x, y, r in ((0.28, 0.7, 0.28), (0.72, 0.7, 0.28), (0.35, 0.38, 0.3), (0.65, 0.38, 0.3), (0.5, 0.28, 0.28)):
            d.ellipse(((x - r) * n, (y - r) * n, (x + r) * n, (y + r) * n), fill=255)

    star = [
        (
            0.5 + (0.52 if i % 2 == 0 else 0.24) * np.sin(i * np.pi / 5),
            0.53 - (0.53 if i % 2 == 0 else 0.24) * np.cos(i * np.pi / 5),
        )
        for i in range(10)
    ]
    add("sun", 1.0, disc)
    add("moon", 1.0, disc)
    add("moon", 0.85, crescent)
    add("star", 1.05, shape(*star))
    add("balloon", 0.9, drop)
    for lean in (0.1, -0.1):
        add("kite", 0.83, shape((0.5 + lean, 0), (1, 0.4 - lean / 2), (0.5 - lean, 1), (0, 0.4 + lean / 2)))
        add(
            "kite",
            0.6,
            shape(
                (0.5 + lean, 0),
                (1, 0.27 - lean / 3),
                (0.5 - lean, 0.66),
                (0.4 - lean, 1),
                (0.33, 0.95),
                (0.45 - lean, 0.66),
                (0, 0.27 + lean / 3),
            ),
        )
    add("house", 1.65, shape((0, 0), (1, 0), (1, 1), (0, 1)))
    add("house", 1.65, shape((0, 0), (1, 0), (1, 1), (0.6, 1), (0.6, 0.45), (0.4, 0.45), (0.4, 1), (0, 1)))
    add("house", 1.1, shape((0, 1), (0, 0.4), (0.5, 0), (1, 0.4), (1, 1)))
    add("tree", 0.95, crown)
    add(
        "tree",
        0.75,
        shape(
            (0.5, 0),
            (0.78, 0.4),
            (0.7, 0.42),
            (0.9, 0.7),
            (0.82, 0.72),
            (1, 1),
            (0, 1),
            (0.18, 0.72),
            (0.1, 0.7),
            (0.3, 0.42),
            (0.22, 0.4),
        ),
    )
    add("tent", 1.5, shape((0.42, 0), (0.7, 0.1), (1, 0.8), (0.7, 1), (0, 1)))
    add("tent", 1.1, shape((0.55, 0), (1, 1), (0, 1)))
    add("boat", 0.85, sail)
    add("boat", 3.6, hull)
    return made


SILHOUETTES = silhouettes()


def likeness_of(mask: np.ndarray) -> dict[str, float]:
    """How like each kind a blob's outline is: overlap over union on the grid, less where it is wider or taller."""
    ys, xs = np.nonzero(mask)
    top, bottom, left, right = ys.min(), ys.max() + 1, xs.min(), xs.max() + 1
    cut = Image.fromarray(mask[top:bottom, left:right].astype(np.uint8) * 255)
    grid = np.asarray(cut.resize((GRID, GRID), Image.BILINEAR if min(cut.size) < GRID else Image.BOX)) / 255.0
    aspect = (right - left) / (bottom - top)
    found = {}
    for kind, shapes in SILHOUETTES.items():
        found[kind] = max(
            np.minimum(grid, s).sum() / np.maximum(grid, s).sum() * np.exp(-1.2 * abs(np.log(aspect / a)))
            for s, a in shapes
        )
    return found


def blobs(picture: np.ndarray) -> list[Blob]:
    """Everything that stands out in a colour that has a name, in a finer and a coarser cut."""
    return [blob for scale in (0.15, 0.45) for blob in blobs_at(picture, scale)]


def blobs_at(picture: np.ndarray, scale: float) -> list[Blob]:
    labels, x = regions(picture, scale), lab(picture)
    high, wide = labels.shape
    ambient = float(np.median(x[:, :, 0]))
    count = labels.max() + 1
    area = np.bincount(labels.ravel(), minlength=count)
    mean = np.stack([np.bincount(labels.ravel(), x[:, :, c].ravel(), count) / area for c in range(3)], 1)
    names = []
    for i in range(count):
        columns = np.flatnonzero((labels == i).any(0))
        spans = columns[-1] - columns[0] > 0.6 * wide or area[i] > 0.2 * high * wide
        names.append("land" if spans else name_of(mean[i], ambient))
    found = []
    for colour in (*HUES, "white", "black"):
        mask = np.isin(labels, [i for i, n in enumerate(names) if n == colour])
        found += [b for part in components(mask) if (b := read_blob(part, colour, x))]
    return found


def components(mask: np.ndarray) -> list[np.ndarray]:
    labels, count = ndimage.label(mask)
    return [labels == i for i in range(1, count + 1)]


def carries(mask: np.ndarray, x: np.ndarray) -> bool:
    """Whether something hangs below the blob's middle that is not there to its sides: a basket."""
    ys, xs = np.nonzero(mask)
    tall, wide, foot, middle = (
        ys.max() - ys.min() + 1,
        xs.max() - xs.min() + 1,
        ys.max() + 1,
        (xs.max() + xs.min()) // 2,
    )
    rows = x[foot + 1 : foot + 2 + round(0.28 * tall)]
    reach, half = round(0.5 * wide), max(1, round(0.08 * wide))
    if len(rows) < 2 or middle < reach + half or middle + reach + half >= x.shape[1]:
        return False
    below = rows[:, middle - half : middle + half + 1].mean(1)
    beside = (
        rows[:, middle - reach - half : middle - reach + half] + rows[:, middle + reach - half : middle + reach + half]
    ).mean(1) / 2
    return float(np.linalg.norm(below - beside, axis=1).max()) > 0.07


def read_blob(mask: np.ndarray, colour: str, x: np.ndarray) -> Blob | None:
    high, wide = mask.shape
    if mask.sum() < 30:
        return None
    ys, xs = np.nonzero(mask)
    if xs.max() - xs.min() > 0.6 * wide:
        return None
    whole = ndimage.binary_fill_holes(mask)
    likeness = likeness_of(whole)
    centre = (float(xs.mean() / wide), float(ys.mean() / high))
    if centre[1] > 0.56:
        kinds = (max(GROUND, key=likeness.get),)
    else:
        kinds = (max(SKY, key=likeness.get),)
        if kinds[0] in ("balloon", "sun", "moon"):
            dark = np.median(x[: high // 3, :, 0]) < 0.45
            lights = ("moon",) if dark or likeness["moon"] > likeness["sun"] else ("sun", "moon")
            kinds = ("balloon",) if carries(whole, x) else lights
    return Blob(colour, kinds, max(likeness[k] for k in kinds), *centre, mask.sum() / mask.size)


def place_of(x: float) -> str:
    return "left" if x < 0.36 else "right" if x > 0.64 else "centre"


def bands(picture: np.ndarray) -> np.ndarray:
    """Eight bands of the picture: colours, how they vary, and edges along and across."""
    x, out = lab(picture), []
    for band in np.array_split(x, 8):
        across, along = np.abs(np.diff(band[:, :, 0], axis=1)), np.abs(np.diff(band[:, :, 0], axis=0))
        sharp = [(d > 0.04).mean() for d in (across, along)]
        out += [*np.median(band, axis=(0, 1)), band[:, :, 0].std(), *sharp, across.mean(), along.mean()]
    return np.array(out, np.float32)


class Surroundings:
    """Terrain, time, weather and season by the nearest of many reference pictures."""

    def __init__(self, pictures: list[np.ndarray], labels: list[dict[str, str]]) -> None:
        features = np.stack([bands(p) for p in pictures])
        self.mean, self.scale = features.mean(0), features.std(0) + 1e-3
        self.features, self.labels = (features - self.mean) / self.scale, labels

    def read(self, picture: np.ndarray, nearest: int = 7) -> dict[str, str]:
        distance = ((self.features - (bands(picture) - self.mean) / self.scale) ** 2).sum(1)
        close = [self.labels[i] for i in np.argsort(distance)[:nearest]]
        return {field: max((votes := [c[field] for c in close]), key=votes.count) for field in close[0]}
