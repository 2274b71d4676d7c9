// What happens when a tower fails, waits for memory, or is not wanted any more: only requests that need its rows end, and no wrong rows stay.

import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { HeldMedia } from '../../../../src/engine/text/media/media-room.ts';
import { RowCache } from '../../../../src/engine/text/towers/row-cache.ts';
import { TowerRecording } from '../../../../src/engine/text/towers/tower-recording.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { withResolvers } from '../../../../src/engine/async/resolvers.ts';
import type { Platform } from '../../../../src/engine/platform/platform.ts';
import type { TextEvent, TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../../src/files/error.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { openMediaGolden, openMediaModel, requestOf, type MediaGolden } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

let golden: MediaGolden;
let model: TextModel;
let device: Device;
beforeAll(async () => {
  golden = await openMediaGolden('qwen2-5-vl');
  const platform: Platform = {
    ...nodePlatform,
    openDevice: async (options) => (device = await nodePlatform.openDevice(options)),
  };
  model = await openMediaModel(golden, { prefillChunk: 4, maxRunningRequests: 4 }, { platform });
});
afterAll(() => model.close());
afterEach(async () => {
  vi.restoreAllMocks();
  // No pages and no rows of one test are of use for the next.
  await model.flushCache();
  for (const relieve of device.reliefs) relieve();
});

const caseOf = (name: string) => golden.cases.find((one) => one.name === name)!;
const text = (maxTokens: number): TextRequest => ({
  ...{ prompt: { text: 'Hello' }, temperature: 0, ignoreEos: true },
  maxTokens,
});

interface Outcome {
  ids: number[];
  /** Code of the error that ended the request. */
  error: string | undefined;
}

async function run(
  request: TextRequest,
  { signal, onEvent }: { signal?: AbortSignal; onEvent?: (event: TextEvent) => void } = {},
): Promise<Outcome> {
  const ids: number[] = [];
  let error: string | undefined;
  try {
    for await (const event of model.generate(request, signal ? { signal } : {})) {
      onEvent?.(event);
      if (event.type === 'delta') ids.push(...event.ids);
    }
  } catch (cause) {
    error = (cause as EngineError).code;
  }
  return { ids, error };
}

/** The device has no room for what is allocated in the next call of `secure`. */
function lackRoomOnce(): void {
  const secure = device.secure.bind(device);
  vi.spyOn(device, 'secure').mockImplementationOnce((allocate) => {
    const lacking = vi
      .spyOn(device.gpu, 'popErrorScope')
      .mockImplementation(() => Promise.resolve({ message: 'no room' } as GPUError));
    const secured = secure(allocate);
    lacking.mockRestore();
    return secured;
  });
}

it('a medium for which the device has no room ends its own requests only, and is computed when there is room', async () => {
  const one = caseOf('one');
  const expected = await run(text(60));
  const beside = run(text(60));
  lackRoomOnce();
  // The first recording allocates a buffer for each input.
  expect(await run(requestOf(golden, one))).toEqual({ ids: [], error: 'out_of_memory' });
  expect(await beside).toEqual(expected);
  expect(expected).toMatchObject({ error: undefined });
  expect(await run(requestOf(golden, one))).toEqual({ ids: one.greedy, error: undefined });
});

it('rows that an error of the device may have spoiled are not kept', async () => {
  const one = caseOf('other');
  const write = TowerRecording.prototype.write;
  vi.spyOn(TowerRecording.prototype, 'write').mockImplementationOnce(function (this: TowerRecording, medium) {
    write.call(this, medium);
    device.gpu.createBuffer({ size: 4, usage: 0 }); // an error of validation
  });
  expect(await run(requestOf(golden, one))).toMatchObject({ ids: [], error: 'internal' });
  expect(await run(requestOf(golden, one))).toEqual({ ids: one.greedy, error: undefined });
});

it('a tower that fails ends no request that has passed its medium', async () => {
  const one = caseOf('one');
  const long: TextRequest = { ...requestOf(golden, one), maxTokens: 200 };
  const failing = requestOf(golden, { ...one, messages: [{ role: 'user', content: ['image', 'Another?'] }] });
  const started = withResolvers<void>();
  const passed = run(long, { onEvent: ({ type }) => type === 'delta' && started.resolve() });
  await started.promise;
  for (const relieve of device.reliefs) relieve();
  lackRoomOnce();
  expect(await run(failing)).toEqual({ ids: [], error: 'out_of_memory' });
  const { ids, error } = await passed;
  expect([ids.length, ids.slice(0, one.greedy.length), error]).toEqual([200, one.greedy, undefined]);
});

it('a medium without room waits for rows that other requests need', async () => {
  // Each shows its image again behind a text that takes several steps.
  const between = { type: 'text' as const, text: ' and then, some way below, ' };
  const requests = golden.images.slice(0, 2).map((image): TextRequest => {
    const part = { type: 'image' as const, image };
    const prompt = { messages: [{ role: 'user' as const, content: [part, between, part] }] };
    return { prompt, temperature: 0, maxTokens: 8, ignoreEos: true };
  });
  const expected: Outcome[] = [];
  for (const request of requests) expected.push(await run(request));
  expect(expected.map(({ error }) => error)).toEqual([undefined, undefined]);
  await model.flushCache();
  for (const relieve of device.reliefs) relieve();
  const allocate = RowCache.prototype.allocate;
  // The second medium is tried while the first chunk of the first prompt runs.
  const refused = vi
    .spyOn(RowCache.prototype, 'allocate')
    .mockImplementationOnce(allocate)
    .mockImplementationOnce(() => Promise.reject(new EngineError('out_of_memory', 'no room')));
  const outcomes = await Promise.all(requests.map((request) => run(request)));
  expect(outcomes).toEqual(expected);
  expect(refused).toHaveBeenCalledTimes(3);
});

it('a request that leaves while kernels of its tower are compiled ends the compilation', async () => {
  const controller = new AbortController();
  let ended: unknown = null;
  vi.spyOn(TowerRecording.prototype, 'compile').mockImplementationOnce(async (onKernel) => {
    controller.abort();
    while (ended === null) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      try {
        onKernel();
      } catch (error) {
        ended = error;
        throw error;
      }
    }
  });
  await run(requestOf(golden, caseOf('one')), { signal: controller.signal });
  await vi.waitFor(() => expect(ended).toMatchObject({ code: 'cancelled' }));
  expect(await run(requestOf(golden, caseOf('one')))).toEqual({
    ids: caseOf('one').greedy,
    error: undefined,
  });
});

it('no request holds prepared media once it has ended', async () => {
  const hold = vi.spyOn(HeldMedia.prototype, 'hold');
  const one = requestOf(golden, caseOf('several'));
  const left = new AbortController();
  await Promise.all([
    run(one),
    run(
      { ...one, maxTokens: 500 },
      { signal: left.signal, onEvent: ({ type }) => type === 'delta' && left.abort() },
    ),
    model.renderPrompt(one.prompt),
  ]);
  expect(hold.mock.calls.length).toBe(6);
  for (const held of hold.mock.contexts as HeldMedia[]) expect(held.bytes).toBe(0);
});
