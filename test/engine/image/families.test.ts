// What a name tells of a model that its files do not.

import { expect, it } from 'vitest';
import { familyOf, isTelling } from '../../../src/engine/image/families.ts';

it.each([
  ['stabilityai/sdxl-turbo', 'stable-diffusion-xl', { steps: 1, guidance: 0, size: 512 }],
  ['stabilityai/sd-turbo', 'stable-diffusion', { steps: 1, guidance: 0, size: 512 }],
  ['Tongyi-MAI/Z-Image-Turbo', 'z-image', { steps: 8, guidance: 0, size: 1024 }],
  ['Tongyi-MAI/Z-Image', 'z-image', { steps: 50, guidance: 5, size: 1024 }],
  ['ByteDance/Hyper-SD', 'stable-diffusion', { steps: 4, guidance: 0 }],
  ['someone/hyperrealism-v3', 'stable-diffusion', {}],
  ['someone/sdxl-turbo', 'z-image', { steps: 50, guidance: 5, size: 1024 }],
  ['stabilityai/stable-diffusion-xl-base-1.0', 'stable-diffusion-xl', { guidance: 5 }],
] as const)('%s', (name, family, defaults) => {
  expect(familyOf({ family, className: 'AnyPipeline' }, name).defaults).toEqual(defaults);
});

it('a class tells it as well', () => {
  const model = { family: 'stable-diffusion', className: 'LatentConsistencyModelPipeline' } as const;
  expect(familyOf(model, 'a/b').defaults).toEqual({ steps: 4, guidance: 8.5 });
});

it.each([
  ['Tongyi-MAI/Z-Image', true],
  ['stabilityai/sd-turbo', true],
  ['nonsense/x', false],
])('that %s tells something of a model is %s', (name, telling) => expect(isTelling(name)).toBe(telling));
