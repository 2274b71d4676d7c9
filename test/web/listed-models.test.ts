import { expect, it } from 'vitest';
import { drawsClips, type ListedModel } from '../../src/web/api/models.ts';

it.each([
  [{ draws_clips: true }, true],
  [{ image_defaults: { num_frames: 13 } }, true],
  [{ image_defaults: { width: 128 } }, false],
  [{}, false],
])('a model that is listed with %j draws clips: %s', (listed, wanted) => {
  expect(drawsClips({ id: 'a', parent: null, ...listed } satisfies ListedModel)).toBe(wanted);
});
