// MP4 files: what they state about their video. test/browser/videos.test.ts plays them. A thread encodes, because the encoder listens to the
// errors of its process.

import { expect, it } from 'vitest';
import { viewOf } from '../../../src/files/image/file-parts.ts';
import { encodeVideo } from '../../../src/host/node/video.ts';
import { boxAt } from '../../../src/files/video/mp4-boxes.ts';
import { card } from './clips.ts';

const TABLE = 'moov/trak/mdia/minf/stbl';

/** Numbers of 32 bits at offsets of a box. */
function wordsOf(file: Uint8Array, path: string, ...offsets: readonly number[]): number[] {
  const view = viewOf(boxAt(file, path)!);
  return offsets.map((at) => view.getUint32(at));
}

it('an MP4 file states the frames, the rate and the size of its video, before its frames', async () => {
  const file = await encodeVideo(card(96, 64, 5), { format: 'mp4', fps: 12.5 });
  const [timescale, duration] = wordsOf(file, 'moov/trak/mdia/mdhd', 12, 16) as [number, number];
  expect(duration / timescale).toBe(5 / 12.5);
  expect(wordsOf(file, `${TABLE}/stts`, 4, 8, 12)).toEqual([1, 5, timescale / 12.5]);
  expect(wordsOf(file, 'moov/trak/tkhd', 76, 80)).toEqual([96 << 16, 64 << 16]);
  expect(boxAt(file, `${TABLE}/stsd/avc1/clap`)).toBeNull();
  const [first] = wordsOf(file, `${TABLE}/stco`, 8) as [number];
  expect(file.subarray(first)).toEqual(boxAt(file, 'mdat'));
  const sizes = wordsOf(file, `${TABLE}/stsz`, 12, 16, 20, 24, 28);
  expect(sizes.reduce((sum, size) => sum + size)).toBe(file.length - first);
});

it('an MP4 file states its colours: the primaries and curve of sRGB, the matrix of BT.601', async () => {
  const file = await encodeVideo(card(32, 32, 1), { format: 'mp4' });
  const [kind, first, second] = wordsOf(file, `${TABLE}/stsd/avc1/colr`, 0, 4, 7) as [number, number, number];
  expect([kind, first, second]).toEqual([0x6e636c78, (1 << 16) + 13, (13 << 24) + (6 << 8)]);
});

it.each([
  [96, 64, 12, 10],
  [832, 480, 16, 30],
  [1280, 720, 30, 31],
])(
  'a video of %i × %i at %i frames a second has a level at which decoders keep up',
  async (w, h, fps, level) => {
    const file = await encodeVideo(card(w, h, 1), { format: 'mp4', fps });
    expect([...boxAt(file, `${TABLE}/stsd/avc1/avcC`)!.subarray(0, 4)]).toEqual([1, 66, 0xc0, level]);
  },
);

it('odd sides are stored even, and the file states the part to show', async () => {
  const file = await encodeVideo(card(33, 51, 2), { format: 'mp4' });
  const entry = viewOf(boxAt(file, `${TABLE}/stsd`)!);
  expect([entry.getUint16(8 + 24), entry.getUint16(8 + 26)]).toEqual([34, 52]);
  const shown = wordsOf(file, `${TABLE}/stsd/avc1/clap`, 0, 4, 8, 12, 16, 20, 24, 28);
  expect(shown.map((word) => word | 0)).toEqual([33, 1, 51, 1, -1, 2, -1, 2]);
});

it('lower quality takes fewer bytes', async () => {
  const sizes = [];
  for (const quality of [100, 75, 30])
    sizes.push((await encodeVideo(card(96, 64, 3), { format: 'mp4', quality })).length);
  expect(sizes.toSorted((a, b) => b - a)).toEqual(sizes);
  expect(new Set(sizes).size).toBe(3);
});
