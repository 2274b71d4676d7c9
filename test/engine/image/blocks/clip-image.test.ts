// The patches that CLIP's vision encoder sees of an image.

import { expect, it } from 'vitest';
import { clipPatches } from '../../../../src/engine/image/blocks/clip-image.ts';

it('the image encoder sees the middle of an image whose shorter side is scaled', () => {
  const [width, height] = [8, 4];
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => (Math.floor(at / 3) % width) * 20);
  const values = clipPatches({ width, height, data }, { side: 4, patch: 2 });
  expect(values).toHaveLength(4 * 12);
  // Columns 2 to 5 of the image are left, in patches of two.
  const shown = [...values.slice(0, 4)].map((value) => (value * 0.26862954 + 0.48145466) * 255);
  expect(shown.map(Math.round)).toEqual([40, 60, 40, 60]);
});
