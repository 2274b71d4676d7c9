// Media in rendered prompts: the texts at which they stand, in the forms that chat templates of one class print.

import { describe, expect, it } from 'vitest';
import { expandText } from '../../../../src/engine/text/media/expand.ts';
import type { Medium } from '../../../../src/engine/text/towers/medium.ts';
import type { MediaReaders, PreparedMedium } from '../../../../src/models/media.ts';

const video = { placeholder: '<start><video><end>', otherPlaceholders: ['<video>'] };
const readers = { video, image: { placeholder: '<image>' } } as unknown as MediaReaders;
const clip = (...parts: (string | number)[]): Medium => ({
  kind: 'video',
  key: 'clip',
  prepared: { parts, token: '<cell>' } as unknown as PreparedMedium,
});

describe('a video whose steps have tokens around them', () => {
  const medium = clip('<0.2 seconds><start>', 4, '<end>', '<1.6 seconds><start>', 4, '<end>');
  const steps = '<0.2 seconds><start><cell><end><1.6 seconds><start><cell><end>';
  it.each([
    ['takes the place of those that the template prints', 'a <start><video><end> b'],
    ['stands where the template prints none', 'a <video> b'],
  ])('%s', (_, text) => {
    const expanded = expandText(text, [medium], readers, String);
    expect(expanded.text).toBe(`a ${steps} b`);
    expect(expanded.runs.map(({ rows }) => rows)).toEqual([4, 4]);
  });

  it('is counted', () => {
    expect(() => expandText('<video> <video>', [medium], readers, String)).toThrow(
      /<video> 2 times for 1 of type video/,
    );
    expect(() => expandText('nothing', [medium], readers, String)).toThrow(
      /shows 0 of 1 parts of type video/,
    );
  });
});
