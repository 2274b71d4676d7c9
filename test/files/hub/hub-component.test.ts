// One component of a pipeline on the hub, as it takes the place of another pipeline's: nothing else is fetched.

import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { pipelineFolders } from '../../../src/engine/image/families/registry.ts';
import { listModels } from '../../../src/files/hub/hub-list.ts';
import { eventsOf, hubFixture } from './mock-hub-fixture.ts';

const index = {
  _class_name: 'StableDiffusionPipeline',
  scheduler: ['diffusers', 'EulerDiscreteScheduler'],
  text_encoder: ['transformers', 'CLIPTextModel'],
  unet: ['diffusers', 'UNet2DConditionModel'],
  vae: ['diffusers', 'AutoencoderKL'],
};
const PIPELINE = new Map([
  ['model_index.json', Buffer.from(JSON.stringify(index))],
  ['scheduler/scheduler_config.json', Buffer.from('{"_class_name":"LCMScheduler"}')],
  ['text_encoder/config.json', Buffer.from('{}')],
  ['text_encoder/pytorch_model.bin', Buffer.alloc(256)],
  ['unet/config.json', Buffer.from('{"unet":1}')],
  ['unet/diffusion_pytorch_model.safetensors', Buffer.alloc(128, 1)],
  ['unet/diffusion_pytorch_model.fp16.safetensors', Buffer.alloc(64, 2)],
  ['vae/config.json', Buffer.from('{"vae":1}')],
  ['vae/diffusion_pytorch_model.safetensors', Buffer.alloc(64, 3)],
]);

test('a component is fetched alone, in half precision where the hub has it, and others beside it later', async () => {
  const fixture = await hubFixture(PIPELINE);
  const { resolve, env } = fixture;
  const { path } = await resolve({ component: 'unet' });
  expect(await readdir(path)).toEqual(['model_index.json', 'unet']);
  expect(await readdir(`${path}/unet`)).toEqual(['config.json', 'diffusion_pytorch_model.fp16.safetensors']);
  await resolve({ component: 'scheduler' });
  expect(await readdir(path)).toEqual(['model_index.json', 'scheduler', 'unet']);
  expect(eventsOf(fixture, 'done').map(({ fetched }) => fetched > 0)).toEqual([true, true]);

  const offline = { env: { ...env, HF_HUB_OFFLINE: '1' } };
  await expect(resolve({ ...offline, component: 'unet' })).resolves.toMatchObject({ path });
  await expect(resolve({ ...offline, component: 'vae' })).rejects.toMatchObject({ code: 'model_not_found' });
  await expect(resolve(offline)).rejects.toMatchObject({ code: 'model_not_found' });
  expect((await listModels({ env }))[0]).toMatchObject({ complete: false });
});

test("a component is fetched in torch's file where the hub has no other", async () => {
  const { resolve } = await hubFixture(PIPELINE);
  const { path } = await resolve({ component: 'text_encoder' });
  expect(await readdir(`${path}/text_encoder`)).toEqual(['config.json', 'pytorch_model.bin']);
});

test('a component that the pipeline lacks fetches the index only', async () => {
  const { resolve } = await hubFixture(PIPELINE);
  const { path } = await resolve({ component: 'transformer' });
  expect(await readdir(path)).toEqual(['model_index.json']);
});

test('a component of a repository that is no pipeline fetches all files', async () => {
  const { resolve } = await hubFixture();
  const { path } = await resolve({ component: 'unet' });
  expect(await readdir(path)).toContain('model.safetensors');
});

test('a pipeline is complete without the safety checker, which is never fetched', async () => {
  const index = {
    _class_name: 'StableDiffusionPipeline',
    safety_checker: ['stable_diffusion', 'StableDiffusionSafetyChecker'],
    unet: ['diffusers', 'UNet2DConditionModel'],
  };
  const { resolve, env } = await hubFixture(
    new Map([
      ['model_index.json', Buffer.from(JSON.stringify(index))],
      ['safety_checker/config.json', Buffer.from('{}')],
      ['safety_checker/model.safetensors', Buffer.alloc(64)],
      ['unet/config.json', Buffer.from('{}')],
      ['unet/diffusion_pytorch_model.safetensors', Buffer.alloc(64)],
    ]),
  );
  const { path } = await resolve();
  expect(await readdir(path)).toEqual(['model_index.json', 'unet']);
  await expect(resolve({ env: { ...env, HF_HUB_OFFLINE: '1' } })).resolves.toMatchObject({ path });
  expect((await listModels({ env, pipelines: pipelineFolders() }))[0]).toMatchObject({ complete: true });
});
