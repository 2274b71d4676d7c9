"""The things of a scene: house, tree, tent, boat, balloon, kite, sun, moon and star.

Each painter gets the middle (or foot) in pixels, a scale, and its colour in this light.
Things are lit more than the land, so that a named colour stays that colour at night.
"""

import math
import random

import skia

from brush import SIZE, across, paint, polygon, radial, shade
from palette import NAMED, Colour, Palette, lit, mix, rgb
from scenes import GROUND_KINDS, Scene, Thing

EXTENT = {
    "balloon": (13, 17), "kite": (11, 17), "sun": (11, 11), "moon": (10, 10), "star": (9, 9),
    "house": (15, 25), "tree": (13, 34), "tent": (15, 20), "boat": (15, 28),
}  # fmt: skip
"""Half width and half height (of ground things: whole height above the foot), at scale 1."""


def box_of(thing: Thing) -> tuple[float, float, float, float]:
    """left, top, right, bottom in shares of the picture."""
    wide, tall = (v * thing.scale / SIZE for v in EXTENT[thing.kind])
    if thing.kind in GROUND_KINDS:
        return thing.x - wide, thing.y - tall, thing.x + wide, thing.y + 0.02
    return thing.x - wide, thing.y - tall, thing.x + wide, thing.y + tall


def shadow(canvas, x: float, y: float, wide: float) -> None:
    canvas.drawOval(
        skia.Rect.MakeXYWH(x - wide, y - wide * 0.16, 2 * wide, wide * 0.34), paint((0.05, 0.06, 0.14), 0.32, blur=1.2)
    )


def house(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    shadow(canvas, x, y, 16 * s)
    wide, tall = 12.5 * s, 15 * s
    roof = palette.land("6b4a3c" if form % 2 else "4c5468", 0.0)
    roof = mix(roof, rgb("6b4a3c"), 0.25)
    if form % 3:
        canvas.drawRect(skia.Rect(x + 5 * s, y - 26 * s, x + 8.6 * s, y - 15 * s), paint(shade(roof, -0.15)))
    canvas.drawRect(
        skia.Rect(x - wide, y - tall, x + wide, y),
        across(x - wide, x + wide, [shade(colour, 0.10), colour, shade(colour, -0.16)]),
    )
    gable = [
        (x - wide - 2.5 * s, y - tall + 0.6 * s),
        (x, y - tall - 10.5 * s),
        (x + wide + 2.5 * s, y - tall + 0.6 * s),
    ]
    canvas.drawPath(polygon(gable), across(x - wide, x + wide, [shade(roof, 0.12), shade(roof, -0.15)]))
    if scene.season == "winter":
        lower = [(px, py + 2.8 * s) for px, py in gable]
        canvas.drawPath(
            polygon([*gable, lower[2], (x, lower[1][1] + 1.2 * s), lower[0]]),
            paint(lit(rgb("f7fafd"), mix((1, 1, 1), palette.light, 0.6))),
        )
    dark = scene.time in ("night", "sunset")
    pane = rgb("ffdc82") if dark else mix(rgb("dcecf4"), palette.haze, 0.2)
    for side in (-1, 1):
        box = skia.Rect.MakeXYWH(x + side * 7.4 * s - 2.1 * s, y - 11.5 * s, 4.2 * s, 4.8 * s)
        if dark:
            canvas.drawRect(box.makeOutset(1.5, 1.5), paint(rgb("ffcf70"), 0.45, blur=2))
        canvas.drawRect(box.makeOutset(0.5, 0.5), paint(shade(colour, -0.35)))
        canvas.drawRect(box, paint(pane))
    canvas.drawRect(
        skia.Rect(x - 2.3 * s, y - 8.2 * s, x + 2.3 * s, y), paint(mix(shade(roof, -0.2), rgb("3a2a22"), 0.3))
    )


def tree(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    shadow(canvas, x, y, 11 * s)
    trunk = palette.land("6a4a34", 0.0)
    canvas.drawPath(
        polygon([(x - 2 * s, y), (x - 1.2 * s, y - 16 * s), (x + 1.2 * s, y - 16 * s), (x + 2.2 * s, y)]),
        across(x - 2 * s, x + 2 * s, [shade(trunk, 0.1), shade(trunk, -0.25)]),
    )
    rng = random.Random(form)
    if form % 3 == 0:  # a fir
        for tier in range(4):
            top, low, half = y - (35 - 7 * tier) * s, y - (21 - 5.6 * tier) * s, (6.0 + 2.1 * tier) * s
            canvas.drawPath(
                polygon([(x, top), (x - half, low), (x + half, low)]),
                across(x - half, x + half, [shade(colour, 0.12), shade(colour, -0.2)]),
            )
        return
    crowns = [(-6, -17, 6.5), (6, -17, 6.5), (-4.2, -25, 7), (4.8, -24.5, 6.8), (0, -29, 6.5), (0, -20, 8)]
    for dx, dy, r in crowns:
        dx, dy = dx + rng.uniform(-0.8, 0.8), dy + rng.uniform(-0.8, 0.8)
        cx, cy, cr = x + dx * s, y + dy * s, r * s
        canvas.drawCircle(
            cx,
            cy,
            cr,
            radial(cx - cr * 0.35, cy - cr * 0.45, cr * 1.7, [shade(colour, 0.18), colour, shade(colour, -0.25)]),
        )


def tent(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    shadow(canvas, x, y, 16 * s)
    top = y - 19 * s
    canvas.drawPath(
        polygon([(x - 2 * s, top), (x - 14 * s, y), (x + 6 * s, y)]),
        across(x - 14 * s, x + 6 * s, [shade(colour, 0.14), colour]),
    )
    canvas.drawPath(
        polygon([(x - 2 * s, top), (x + 6 * s, y), (x + 15 * s, y - 3.5 * s), (x + 7 * s, top + 2 * s)]),
        paint(shade(colour, -0.2)),
    )
    inside = rgb("ffc766") if scene.time in ("night", "sunset") else shade(colour, -0.6)
    canvas.drawPath(polygon([(x - 2.6 * s, top + 6 * s), (x - 6.5 * s, y), (x + 0.4 * s, y)]), paint(inside))
    canvas.drawLine(x - 2 * s, top - 1.5 * s, x - 2 * s, top + 1 * s, paint(shade(colour, -0.4), stroke=0.9 * s))


def boat(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    canvas.drawOval(
        skia.Rect.MakeXYWH(x - 14 * s, y - 0.5 * s, 28 * s, 5 * s), paint(shade(colour, -0.3), 0.40, blur=1.4)
    )
    mast = palette.land("6a4a34", 0)
    canvas.drawLine(x, y - 6 * s, x, y - 28 * s, paint(mast, stroke=1.2 * s))
    sail = mix(rgb("fbf7ee"), palette.land("fbf7ee", 0), 0.5)
    jib = skia.Path()
    jib.moveTo(x - 1.2 * s, y - 26 * s)
    jib.quadTo(x - 6 * s, y - 14 * s, x - 10.5 * s, y - 8 * s)
    jib.lineTo(x - 1.2 * s, y - 8.4 * s)
    jib.close()
    canvas.drawPath(jib, across(x - 10 * s, x, [sail, shade(sail, -0.12)]))
    main = skia.Path()
    main.moveTo(x + 1.2 * s, y - 27.5 * s)
    main.quadTo(x + 11 * s, y - 17 * s, x + 12 * s, y - 8 * s)
    main.lineTo(x + 1.2 * s, y - 8 * s)
    main.close()
    canvas.drawPath(main, across(x, x + 12 * s, [shade(colour, 0.22), colour]))
    hull = skia.Path()
    hull.moveTo(x - 14 * s, y - 6.6 * s)
    hull.lineTo(x + 14.5 * s, y - 6.6 * s)
    hull.quadTo(x + 11 * s, y + 1.2 * s, x + 7 * s, y + 1.2 * s)
    hull.lineTo(x - 8 * s, y + 1.2 * s)
    hull.quadTo(x - 12.5 * s, y - 0.5 * s, x - 14 * s, y - 6.6 * s)
    canvas.drawPath(hull, across(x - 14 * s, x + 14 * s, [shade(colour, 0.06), shade(colour, -0.2)]))
    canvas.drawLine(x - 13 * s, y - 5.9 * s, x + 13.4 * s, y - 5.9 * s, paint(shade(colour, 0.45), stroke=0.9 * s))


def balloon(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    top, r = y - 16 * s, 11.5 * s
    middle = top + r
    envelope = skia.Path()
    envelope.moveTo(x - 3.2 * s, y + 9 * s)
    envelope.cubicTo(x - 5 * s, y + 4 * s, x - r * 1.02, y + 2 * s, x - r, middle)
    envelope.cubicTo(x - r, top - 2.3 * s, x + r, top - 2.3 * s, x + r, middle)
    envelope.cubicTo(x + r * 1.02, y + 2 * s, x + 5 * s, y + 4 * s, x + 3.2 * s, y + 9 * s)
    envelope.close()
    if scene.time == "night":
        canvas.drawCircle(x, middle + 2 * s, 1.3 * r, paint(mix(colour, (1, 0.8, 0.5), 0.5), 0.28, blur=4 * s))
    canvas.drawPath(
        envelope, radial(x - r * 0.35, middle - r * 0.4, r * 2.1, [shade(colour, 0.25), colour, shade(colour, -0.32)])
    )
    canvas.save()
    canvas.clipPath(envelope, skia.ClipOp.kIntersect, True)
    for half in (0.36, 0.76) if form % 2 else (0.55,):
        band = paint(shade(colour, -0.28), 0.5, stroke=1.1 * s)
        canvas.drawOval(skia.Rect(x - half * r, top - 2 * s, x + half * r, y + 12 * s), band)
    canvas.restore()
    rope = paint(palette.land("4a3a30", 0), 0.8, stroke=0.6 * s)
    canvas.drawLine(x - 2.8 * s, y + 9 * s, x - 1.8 * s, y + 13 * s, rope)
    canvas.drawLine(x + 2.8 * s, y + 9 * s, x + 1.8 * s, y + 13 * s, rope)
    basket = skia.Rect.MakeXYWH(x - 2.3 * s, y + 12.8 * s, 4.6 * s, 4 * s)
    canvas.drawRoundRect(basket, 0.8 * s, 0.8 * s, paint(mix(palette.land("8a5a34", 0), rgb("8a5a34"), 0.4)))


def kite(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    lean = 1 if form % 2 else -1
    top, side_y, low = (x + 3 * s * lean, y - 15 * s), y - 5 * s, (x - 1.5 * s * lean, y + 9 * s)
    left, right = (x - 10 * s, side_y + 1.5 * s * lean), (x + 10 * s, side_y - 1.5 * s * lean)
    heart = (x + 0.8 * s * lean, side_y)
    tail = skia.Path()
    tail.moveTo(*low)
    tail.cubicTo(x - 6 * s * lean, y + 13 * s, x + 4 * s * lean, y + 15 * s, x - 3 * s * lean, y + 21 * s)
    canvas.drawPath(tail, paint(shade(colour, -0.1), stroke=1.0 * s))
    for (a, b), tone in zip(((top, left), (top, right), (low, left), (low, right)), (0.18, -0.02, 0.0, -0.22)):
        canvas.drawPath(polygon([heart, a, b]), paint(shade(colour, tone)))
    canvas.drawPath(polygon([top, left, low, right]), paint(shade(colour, -0.1), 0.8, stroke=0.7 * s))
    for dx, dy in ((-2.6, 13), (0, 17)):
        canvas.drawCircle(x + dx * s * lean, y + dy * s, 1.5 * s, paint(shade(colour, 0.1)))


def sun(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    r = 9.5 * s
    veil = {"clear": 1.0, "cloudy": 0.85, "rain": 0.7, "fog": 0.7, "snowfall": 0.75}[scene.weather]
    canvas.drawCircle(
        x, y, 4.5 * r, radial(x, y, 4.5 * r, [shade(colour, 0.35)] * 2 + [colour], [0.55 * veil, 0.2 * veil, 0.0])
    )
    canvas.drawCircle(x, y, r, radial(x, y, r, [shade(colour, 0.45), shade(colour, 0.12), colour], [1.0, 1.0, 0.98]))


def moon(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    r = 9 * s
    canvas.drawCircle(x, y, 3 * r, radial(x, y, 3 * r, [colour, colour], [0.42, 0.0]))
    disc = skia.Path()
    disc.addCircle(x, y, r)
    if form % 2:
        bite = skia.Path()
        bite.addCircle(x + 0.55 * r, y - 0.22 * r, 0.86 * r)
        disc = skia.Op(disc, bite, skia.PathOp.kDifference_PathOp)
        canvas.drawPath(disc, paint(shade(colour, 0.1)))
        return
    canvas.drawPath(disc, radial(x - 0.3 * r, y - 0.3 * r, 1.7 * r, [shade(colour, 0.3), colour, shade(colour, -0.12)]))
    for dx, dy, cr in ((-0.35, -0.2, 0.24), (0.3, 0.28, 0.3), (0.32, -0.42, 0.15)):
        canvas.drawCircle(x + dx * r, y + dy * r, cr * r, paint(shade(colour, -0.15), 0.6))


def star(canvas, x, y, s, colour: Colour, scene: Scene, palette: Palette, form: int) -> None:
    r = 9.5 * s
    canvas.drawCircle(x, y, 2.6 * r, radial(x, y, 2.6 * r, [colour, colour], [0.5, 0.0]))
    points = []
    for i in range(10):
        reach = r if i % 2 == 0 else 0.46 * r
        angle = math.pi * (i / 5 - 0.5)
        points.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
    canvas.drawPath(polygon(points), radial(x, y, r, [shade(colour, 0.4), colour]))


PAINTERS = {
    "house": house, "tree": tree, "tent": tent, "boat": boat, "balloon": balloon,
    "kite": kite, "sun": sun, "moon": moon, "star": star,
}  # fmt: skip


def paint_thing(canvas, thing: Thing, scene: Scene, palette: Palette) -> None:
    named = NAMED[thing.colour]
    colour = named if thing.kind in ("sun", "moon", "star") else mix(lit(named, palette.light), named, 0.55)
    PAINTERS[thing.kind](canvas, thing.x * SIZE, thing.y * SIZE, thing.scale, colour, scene, palette, thing.form)
