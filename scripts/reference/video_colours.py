"""Videos whose colours have several matrices and ranges, and what FFmpeg decodes of them:  python scripts/reference/video_colours.py   (with PyAV)

test/golden/video-colours.json: small files (base64), and digests of their frames as RGB, as transformers' reader takes them of PyAV; of the first
frame also its planes (base64).
"""

import base64
import hashlib
import json
import tempfile
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import av
import numpy

WIDTH, HEIGHT, FRAMES = 48, 32, 8
# Numbers of H.273: 1 is BT.709, 9 BT.2020.
CASES = {
    'high-definition.mp4': ('libx264', Fraction(24000, 1001), dict(colorspace=1)),
    'full-range.mp4': ('libx264', Fraction(12), dict(colorspace=1, color_range=2)),
    'not-stated.mp4': ('libx264', Fraction(15, 2), {}),
    'wide.webm': ('libvpx-vp9', Fraction(15), dict(colorspace=9)),
}


def drawn(t):
    y, x = numpy.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [127 + 110 * numpy.sin(x / 5 + t / 3), 127 + 110 * numpy.cos((x + y) / 7 - t / 4), 127 + 110 * numpy.sin(y / 4 + t / 5)]
    return numpy.stack(waves, -1).astype(numpy.uint8)


def made(folder, name, codec, rate, colours):
    path = folder / name
    with av.open(path, 'w') as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, 'yuv420p'
        for key, value in colours.items():
            setattr(stream.codec_context, key, value)
        for t in range(FRAMES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(drawn(t), format='rgb24')))
        container.mux(stream.encode())
    with av.open(path) as container:
        rate = container.streams.video[0].average_rate
        frames = list(container.decode(video=0))
    digests = [hashlib.sha256(frame.to_ndarray(format='rgb24').tobytes()).hexdigest() for frame in frames]
    planes = b''.join(numpy.frombuffer(plane, numpy.uint8).reshape(plane.height, plane.line_size)[:, : plane.width].tobytes() for plane in frames[0].planes)
    return dict(file=base64.b64encode(path.read_bytes()).decode(), fps=float(rate), frames=digests, planes=base64.b64encode(planes).decode(),
                matrix={1: 'bt709', 9: 'bt2020-ncl'}.get(int(frames[0].colorspace)), full_range=int(frames[0].color_range) == 2)  # fmt: skip


def main():
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: made(Path(folder), name, *case) for name, case in CASES.items()}
    document = {'command': 'python scripts/reference/video_colours.py', 'made_with': {'av': version('av')}, 'size': [WIDTH, HEIGHT], 'cases': cases}
    path = Path(__file__).parents[2] / 'test' / 'golden' / 'video-colours.json'
    path.write_text(json.dumps(document, indent=1) + '\n')


if __name__ == '__main__':
    main()
