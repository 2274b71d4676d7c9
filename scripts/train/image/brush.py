"""Drawing with skia: colours are triples, and positions are fractions of the image size."""

import math
import random

import skia

from palette import Colour, mix

SIZE = 128


def colour4(c: Colour, alpha: float = 1.0) -> int:
    r, g, b = (round(255 * min(1.0, max(0.0, v))) for v in c)
    return skia.ColorSetARGB(round(255 * alpha), r, g, b)


def paint(c: Colour | None = None, alpha: float = 1.0, blur: float = 0.0, stroke: float = 0.0) -> skia.Paint:
    p = skia.Paint(AntiAlias=True)
    if c is not None:
        p.setColor(colour4(c, alpha))
    if blur:
        p.setMaskFilter(skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, blur))
    if stroke:
        p.setStyle(skia.Paint.kStroke_Style)
        p.setStrokeWidth(stroke)
        p.setStrokeCap(skia.Paint.kRound_Cap)
    return p


def vertical(top: float, bottom: float, stops: list[Colour], alphas: list[float] | None = None) -> skia.Paint:
    """Returns a paint with a vertical gradient through the colours `stops` from y = top to y = bottom (pixels)."""
    p = skia.Paint(AntiAlias=True, Dither=True)
    colours = [colour4(c, a) for c, a in zip(stops, alphas or [1.0] * len(stops))]
    p.setShader(skia.GradientShader.MakeLinear([(0, top), (0, bottom)], colours))
    return p


def across(left: float, right: float, stops: list[Colour]) -> skia.Paint:
    p = skia.Paint(AntiAlias=True, Dither=True)
    p.setShader(skia.GradientShader.MakeLinear([(left, 0), (right, 0)], [colour4(c) for c in stops]))
    return p


def radial(x: float, y: float, radius: float, stops: list[Colour], alphas: list[float] | None = None) -> skia.Paint:
    p = skia.Paint(AntiAlias=True, Dither=True)
    colours = [colour4(c, a) for c, a in zip(stops, alphas or [1.0] * len(stops))]
    p.setShader(skia.GradientShader.MakeRadial((x, y), radius, colours))
    return p


def polygon(points: list[tuple[float, float]]) -> skia.Path:
    path = skia.Path()
    path.addPoly([skia.Point(*p) for p in points], True)
    return path


def smooth(points: list[tuple[float, float]]) -> skia.Path:
    """Returns a smooth path through the midpoints between successive points, closed along the lower edge of the image."""
    path = skia.Path()
    path.moveTo(*points[0])
    for (x0, y0), (x1, y1) in zip(points[1:], points[2:]):
        path.quadTo(x0, y0, (x0 + x1) / 2, (y0 + y1) / 2)
    path.lineTo(*points[-1])
    path.lineTo(points[-1][0], SIZE + 2)
    path.lineTo(points[0][0], SIZE + 2)
    path.close()
    return path


def waves(rng: random.Random, octaves: tuple[tuple[float, float], ...]):
    """Returns a sum of sines of random phase; `octaves`: pairs of (waves across the image, height)."""
    terms = [(k * rng.uniform(0.8, 1.2) * 2 * math.pi / SIZE, a, rng.uniform(0, 2 * math.pi)) for k, a in octaves]
    return lambda x: sum(a * math.sin(k * x + p) for k, a, p in terms)


def shade(c: Colour, by: float) -> Colour:
    """Returns the colour made lighter (by > 0) or darker and slightly bluer (by < 0)."""
    return mix(c, (1.0, 0.99, 0.95), by) if by > 0 else mix(c, (0.05, 0.05, 0.14), -by)
