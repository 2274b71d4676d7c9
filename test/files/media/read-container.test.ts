// Frames of containers that are larger than their track states, with a stand-in for the optional package.

import { expect, it, vi } from 'vitest';
import { readContainer } from '../../../src/files/media/read-container.ts';

const closed: number[] = [];
const SIZES = [2, 2, 9];

/** A frame of so many pixels along a side. */
function sample(side: number, at: number) {
  return {
    visibleRect: { width: side, height: side },
    format: null,
    colorSpace: {},
    allocationSize: () => 4 * side * side,
    copyTo: async () => {},
    close: () => void closed.push(at),
  };
}

const track = { codec: 'avc', codedWidth: 2, codedHeight: 2, rotation: 0, canDecode: async () => true };

vi.mock('../../../src/files/media/container.ts', () => ({
  needsMediabunny: () => new Error('is not asked'),
  loadMediabunny: async () => ({
    ALL_FORMATS: [],
    BufferSource: function () {},
    Input: class {
      getPrimaryVideoTrack = async () => track;
      dispose() {}
    },
    EncodedPacketSink: class {
      async *packets() {
        for (const [at] of SIZES.entries()) yield { timestamp: at, duration: 1 };
      }
    },
    VideoSampleSink: class {
      async *samplesAtTimestamps() {
        for (const [at, side] of SIZES.entries()) yield sample(side, at);
      }
    },
  }),
}));

const bounds = { maxImagePixels: 80, maxVideoPixels: 12, maxVideoFrames: 9, maxMediaSeconds: 9 };
const read = (limits: object, signal?: AbortSignal) =>
  readContainer(new Uint8Array(1), { name: 'video', format: 'MP4' }, { ...bounds, ...limits }, {}, signal);

it('frames larger than their track states are refused before their pixels are copied, and closed', async () => {
  await expect(read({})).rejects.toThrow('video has a frame of 9 × 9 pixels');
  await expect(read({ maxImagePixels: 81 })).rejects.toThrow('video has frames of 89 pixels to decode');
  expect(closed.splice(0)).toEqual([0, 1, 2, 0, 1, 2]);
  expect((await read({ maxImagePixels: 81, maxVideoPixels: 89 })).frames).toHaveLength(3);
});

it('the frame at which a request leaves is closed', async () => {
  closed.length = 0;
  const leaving = new AbortController();
  const reading = read({}, leaving.signal);
  leaving.abort(new Error('it left'));
  await expect(reading).rejects.toThrow('it left');
  const late = new AbortController();
  const choice = { fit: (frame: never) => (late.abort(new Error('it left')), frame) };
  const file = { name: 'video', format: 'MP4' };
  await expect(readContainer(new Uint8Array(1), file, bounds, choice, late.signal)).rejects.toThrow(
    'it left',
  );
  expect(closed).toEqual([0, 1]);
});
