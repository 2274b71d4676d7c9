// What the two processors of GLM's videos make of clips, against transformers: the frames that they choose, and the text in the place of a clip.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { finished } from '../../../src/models/preparation.ts';
import { clipFor, GOLDEN, readerOf, sourceOf } from '../../engine/text/media/glm-clips.ts';

describe.each(Object.entries(GOLDEN.choices))('the processor of %s', (form, choices) => {
  it('chooses the frames of transformers', () => {
    const reader = readerOf('glm-4v-moe', form);
    for (const [frames, fps, wanted] of choices) {
      const chosen = reader.frames(sourceOf(frames, fps));
      const digest = createHash('sha256').update(chosen.join()).digest('hex').slice(0, 16);
      // transformers takes no frame of the shortest clips.
      if (wanted === null) expect(chosen).toEqual([0, 0]);
      else expect([frames, fps, digest]).toEqual([frames, fps, wanted]);
    }
  });

  it('puts images with their times in the place of a clip, as transformers does', () => {
    const reader = readerOf('glm-ocr', form);
    const { parts } = finished(reader.prepare(clipFor(reader, 'narrow'), {}));
    const texts = parts.map((part) => (typeof part === 'number' ? '<|image|>'.repeat(part) : part));
    expect((texts as string[]).join('')).toBe(GOLDEN.shown[form]);
  });
});
