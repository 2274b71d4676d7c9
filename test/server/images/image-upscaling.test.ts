// Requests for enlarged images, of a fake model.

import { expect, it } from 'vitest';
import { look, readReply, startImages } from './image-harness.ts';

it('the image server gives enlarged images in their size, by the network that the server was started with alone', async () => {
  const { generate, model } = await startImages();
  const fields = { seed: 7, enable_upscaling: true, upscaling_scale: 2 };
  const path = 'fake-upscaler.safetensors';
  const reply = await readReply(await generate({ ...fields, upscaling_model_path: path }));
  expect(reply.size).toBe('64x48');
  expect(await look(reply.data[0]?.b64_json)).toMatchObject({ width: 64, height: 48 });
  expect(model.requests).toEqual([{ prompt: 'a house', seed: 7, enableUpscaling: true, upscalingScale: 2 }]);
  const other = await generate({ ...fields, upscaling_model_path: '/etc/other.safetensors' });
  expect(other.status).toBe(400);
  const { error } = await readReply(other);
  expect(error).toMatchObject({
    param: 'upscaling_model_path',
    message: expect.stringContaining(`this server was started with ${path}; leave it out`),
  });
  expect(model.requests).toHaveLength(1);
});
