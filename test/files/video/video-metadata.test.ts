// The configuration in files of videos, whole and damaged.

import { beforeAll, expect, it } from 'vitest';
import { latin1Bytes } from '../../../src/files/image/file-parts.ts';
import { parametersText } from '../../../src/files/image/image-metadata.ts';
import { configOfVideo } from '../../../src/files/video/video-metadata.ts';
import { encodeVideo } from '../../../src/host/node/video.ts';
import { card } from './clips.ts';

const parameters = {
  prompt: 'x',
  negativePrompt: '',
  fields: {},
  config: { prompt: 'ein Wellenbad für "Jörg"', seed: 1 },
};
const files: Record<string, Uint8Array> = {};
beforeAll(async () => {
  for (const format of ['mp4', 'gif', 'webp'] as const)
    files[format] = await encodeVideo(card(16, 16, 2), { format, parameters });
  files['webm'] = webm(parametersText(parameters));
});

/** A WebM file with a comment alone, whose length takes two bytes. */
function webm(text: string): Uint8Array {
  const comment = new TextEncoder().encode(text);
  const tag = [...latin1Bytes('COMMENT\x44\x87'), 0x40 | (comment.length >> 8), comment.length & 255];
  return Uint8Array.from([0x1a, 0x45, 0xdf, 0xa3, 0x80, 0x45, 0xa3, 0x87, ...tag, ...comment, 1, 2, 3]);
}

it.each(['mp4', 'webm', 'webp', 'gif'])(
  'the configuration of a video is read from its file: %s',
  (format) => {
    expect(configOfVideo(files[format]!)).toEqual(parameters.config);
  },
);

it('a damaged video has its configuration, another or none, and never an error', () => {
  let state = 11;
  const random = (most: number): number => (state = (state * 48_271) % 2_147_483_647) % most;
  let whole = 0;
  for (let trial = 0; trial < 500; trial++) {
    const file = Object.values(files)[trial % 4]!.slice();
    for (let count = random(4); count >= 0; count--) file[random(file.length)] = random(256);
    const given = trial % 3 === 0 ? file.subarray(0, random(file.length)) : file;
    if (configOfVideo(given)?.['seed'] === 1) whole += 1;
  }
  expect(whole).toBeGreaterThan(100);
  expect(whole).toBeLessThan(500);
});
