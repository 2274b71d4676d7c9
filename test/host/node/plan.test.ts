// Options of planModel are checked before anything is read.

import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { planModel } from '../../../src/host/node/plan.ts';
import { openTextModel, shippedImageModelPath, shippedModelPath } from '../../../src/index.ts';
import { INTEGRATED, withOnePhase } from '../../../src/gpu/adapter-profile.ts';
import { Device } from '../../../src/gpu/device.ts';
import { temporaryFolders } from '../../files/folders.ts';
import { ggufOfFolder } from '../../files/gguf/from-folder.ts';

const model = shippedModelPath();
const folders = temporaryFolders();

it.each([
  [undefined, 'model', /^planModel takes an object such as { model: … }, and was given undefined$/],
  [{}, 'model', /^model is missing: planModel cannot do without it/],
  [
    { model, quantization: 'int3' },
    'quantization',
    /^quantization is "int3", it must be one of none, int8, int4/,
  ],
  [{ model, memoryBudget: -1 }, 'memoryBudget', /^memoryBudget is -1, it must be/],
  [{ model, contextLength: 0 }, 'contextLength', /^contextLength is 0, it must be/],
  [{ model, bogus: 1 }, 'bogus', /^bogus is unknown to planModel/],
])('the plan option %j is a bad_request on %s', async (given, param, message) => {
  const refusal = planModel(given as Parameters<typeof planModel>[0]);
  await expect(refusal).rejects.toMatchObject({ code: 'bad_request', param });
  await expect(refusal).rejects.toThrow(message);
});

it('a deterministic model is planned with the kernels that it will have on a GPU', async () => {
  // No adapter answers as long as no driver is loaded, so that an integrated GPU is assumed.
  vi.stubEnv('SVC_VULKAN_DRIVER', 'none');
  onTestFinished(() => void (vi.unstubAllEnvs(), vi.restoreAllMocks()));
  const opened = vi.spyOn(Device.prototype, 'memory');
  await planModel({ model, memoryBudget: 2 ** 31, quantization: 'int8', deterministic: true });
  expect((opened.mock.contexts.at(-1) as Device).profile).toEqual(withOnePhase(INTEGRATED));
});

it('activations in 8 bits are planned for a GPU, with what is noted and refused as the model opens', async () => {
  vi.stubEnv('SVC_VULKAN_DRIVER', 'none');
  onTestFinished(() => void vi.unstubAllEnvs());
  const asked = { model, memoryBudget: 2 ** 31, activationDtype: 'int8' } as const;
  const { notes } = await planModel({ ...asked, quantization: 'int4' });
  expect(notes.map(({ message }) => message)).toContain(
    '`activationDtype` int8: weights in int4 are multiplied by activations rounded to 8 bits',
  );
  await expect(planModel(asked)).rejects.toMatchObject({ code: 'bad_request', param: 'activationDtype' });
  await expect(planModel({ ...asked, deterministic: true })).rejects.toThrow('leave one of them out');
  await expect(planModel({ ...asked, model: shippedImageModelPath() })).rejects.toThrow(
    'is for language models',
  );
});

it('a plan within a budget names what fits', async () => {
  const plan = await planModel({ model, memoryBudget: 64 * 2 ** 20, quantization: 'int8' });
  expect(plan.opens).toBe(true);
  expect(plan.choices.map(({ quantization }) => quantization)).toEqual(['none', 'int8', 'int4']);
});

it('a context beyond the model and the choice of auto have the notes of opening', async () => {
  const asked = { model, contextLength: 10_000, quantization: 'auto', memoryBudget: 24 * 2 ** 20 } as const;
  const { notes, opens } = await planModel(asked);
  const told: string[] = [];
  const opened = await openTextModel({ ...asked, inline: true }, (event) => {
    if (event.type === 'note') told.push(event.message);
  });
  await opened.close();
  expect(opens).toBe(true);
  expect(notes.map(({ message }) => message)).toEqual(told);
  expect(told.join()).toMatch(/10000 is beyond the 4096 tokens/);
});

it.each([
  ['deterministic', { deterministic: true }],
  ['layerwiseOffload', { layerwiseOffload: true }],
  ['cpuMoe', { cpuMoe: true }],
])('the plan option %s is refused for image models', async (param, given) => {
  const refusal = planModel({ model: shippedImageModelPath(), ...given });
  await expect(refusal).rejects.toMatchObject({ code: 'bad_request', param });
  await expect(refusal).rejects.toThrow(/^\S+ is for language models, which .* is not: leave it out/);
});

it('quantization auto without room for any weights does not open, and the change names a quantization', async () => {
  const plan = await planModel({ model, quantization: 'auto', memoryBudget: 2 ** 20 });
  expect([plan.opens, plan.change!.quantization]).toEqual([false, 'int4']);
  expect(plan.notes[0]!.message).toMatch(/^the weights need .* even as int4/);
});

it.each([
  ['superbpe', 'tokenizer.ggml.pre', /^m\.gguf: tokenizer\.ggml\.pre "superbpe" is not built/],
  ['rwkv', 'tokenizer.ggml.model', /^m\.gguf: tokenizer\.ggml\.model "rwkv" is not built/],
])('a GGUF file with the tokenizer %s is refused as it is opened', async (name, key, message) => {
  const folder = await folders({ 'm.gguf': await ggufOfFolder(model, { [key]: name }) });
  const file = join(folder, 'm.gguf');
  for (const open of [planModel, openTextModel]) {
    const refusal = open(open === openTextModel ? { model: file, inline: true } : { model: file });
    await expect(refusal).rejects.toMatchObject({ code: 'unsupported', param: key });
    await expect(refusal).rejects.toThrow(message);
  }
});

it('planModel() is cancelled by its signal', async () => {
  const signal = AbortSignal.abort();
  await expect(planModel({ model }, signal)).rejects.toMatchObject({ code: 'cancelled' });
  const late = new AbortController();
  const planned = planModel({ model: shippedImageModelPath() }, late.signal);
  setTimeout(() => late.abort(), 20);
  await expect(planned).rejects.toMatchObject({ code: 'cancelled' });
});
