"""Reads motion from frames: where the pixels of a colour go that were elsewhere before, where the camera goes, how the light changes."""

import numpy as np
from palette import NAMED

CHANGED, NEAR, AWAY = 0.12, 0.3, 0.1
"""How far, in 0…1, a pixel of a thing that moves is from its usual colour, and how near to the colour named; how far a thing must go."""
SHIFTS = range(-40, 41, 2)


def centre_of(share: np.ndarray) -> tuple[float, float] | None:
    """x and y, in shares of the picture, of the middle of a mask [h, w]."""
    if share.sum() < 12:
        return None
    y, x = np.nonzero(share)
    return np.median(x) / share.shape[1], np.median(y) / share.shape[0]


def hues_of(x: np.ndarray) -> np.ndarray:
    """Colours without their brightness, which light changes: [..., 3] → [..., 3]."""
    return x - x.mean(-1, keepdims=True)


def path_of(frames: np.ndarray, colour: str) -> list[tuple[float, float]]:
    """Where the pixels of a colour are that change in the clip, in each frame [f, h, w, 3] that has any."""
    x = frames.astype(np.float32) / 255
    usual = np.median(x, 0)
    named = np.array(NAMED[colour], np.float32)
    changed = np.abs(x - usual).max(-1) > CHANGED
    there, before = (0.5 * np.abs(a - named).max(-1) + np.abs(hues_of(a) - hues_of(named)).max(-1) for a in (x, usual))
    near = changed & (there < before) & (there < NEAR + there[changed].min(initial=1.0))
    return [place for mask in near if (place := centre_of(mask))]


def move_of(frames: np.ndarray, colour: str) -> str:
    """left, right, up, down or still."""
    path = np.array(path_of(frames, colour))
    if len(path) < 4:
        return "still"
    third = max(1, len(path) // 3)
    dx, dy = path[-third:].mean(0) - path[:third].mean(0)
    if max(abs(dx), abs(dy)) < AWAY:
        return "still"
    return ("right" if dx > 0 else "left") if abs(dx) > abs(dy) else ("down" if dy > 0 else "up")


def camera_of(frames: np.ndarray) -> str:
    """left, right or still: which shift makes the last frame most like the first."""
    first, last = (f.astype(np.float32) / 255 for f in (frames[0], frames[-1]))
    wide = first.shape[1]

    def error(shift: int) -> float:
        a = first[:, max(0, shift) : wide + min(0, shift)]
        b = last[:, max(0, -shift) : wide - max(0, shift)]
        return float(np.abs(a - b).mean())

    best = min(SHIFTS, key=error)
    if abs(best) < 8 or error(best) > 0.8 * error(0):
        return "still"
    return "right" if best > 0 else "left"


def turn_of(frames: np.ndarray) -> str:
    """nightfall, daybreak or none."""
    brightness = frames.mean((1, 2, 3)) / 255
    change = brightness[-2:].mean() - brightness[:2].mean()
    return "" if abs(change) < 0.12 else "daybreak" if change > 0 else "nightfall"
