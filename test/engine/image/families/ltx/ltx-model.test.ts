// Call arguments of LTX-Video that would change nothing are refused.

import { expect, it } from 'vitest';
import type { ImageModelOptions, Pixels } from '../../../../../src/index.ts';
import { open } from '../../open-model.ts';
import { tinyPipeline } from '../../pipeline-golden.ts';

const REQUEST = { prompt: 'a boat', width: 32, height: 32, frames: 9 };
const image: Pixels = { width: 32, height: 32, data: new Uint8Array(3 * 32 * 32) };

async function refusal(
  options: Partial<ImageModelOptions>,
  kwargs: Record<string, number>,
  more = {},
): Promise<unknown> {
  const { model } = await open({ model: tinyPipeline('ltx'), ...options });
  try {
    await model.resolve({ ...REQUEST, ...more, kwargs });
    return null;
  } catch (error) {
    return error;
  } finally {
    await model.close();
  }
}

it.each(['decode_timestep', 'decode_noise_scale'])('%s, where the decoder removes no noise', async (name) => {
  expect(await refusal({}, { [name]: 0.05 })).toMatchObject({
    code: 'bad_request',
    param: 'kwargs',
    message: expect.stringContaining(`${name} is for models whose decoder removes noise`) as string,
  });
});

it('image_cond_noise_scale, where no image is given', async () => {
  const later: Partial<ImageModelOptions> = { pipelineClassName: 'LTXConditionPipeline' };
  const kwargs = { image_cond_noise_scale: 0.1 };
  expect(await refusal(later, kwargs)).toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining('is for clips that are drawn from the image') as string,
  });
  expect(await refusal(later, kwargs, { image })).toBeNull();
});
