// What a dispatch, a pass, a submit and reading back cost, however little they do.

import { median } from './device-probes.mjs';
import { dispatchOf, pipelineOf } from './open-device.mjs';
import { encodePass, resolveStamps } from './timestamps.mjs';

const MAP_READ_COPY_DST = 0x1 | 0x8;
const ROUNDS = { full: 3, small: 1 };

/** Adds rows of latencies; the engine's throttle of polling is installed for the last ones and stays. */
export async function latencies({ device, sink }, { small, throttlePolling }) {
  const dispatches = small ? 50 : 1000;
  const samples = small ? 5 : 100;
  const rounds = small ? ROUNDS.small : ROUNDS.full;
  const counter = device.allocate('step', 'counter', 4);
  const step = dispatchOf(device, pipelineOf(device, 'empty.wgsl'), {
    bound: { sink: counter },
    groups: [1],
  });
  const least = async (run) => {
    await run();
    const times = [];
    for (let i = 0; i < rounds; i++) times.push(await run());
    return times.reduce((a, b) => (b.us < a.us ? b : a));
  };
  const put = (name, figures) => sink.row('latencies', { name, ...figures });
  put(
    `an empty dispatch, of ${dispatches} in one pass`,
    await least(() => chained(device, step, dispatches, 1)),
  );
  const own = await least(() => chained(device, step, dispatches, dispatches));
  put(`an empty dispatch, of ${dispatches} in passes of their own`, own);
  put('a submit of one empty dispatch: the call', { us: await calls(device, step, samples) });
  put('a submit of one empty dispatch, until it is done', { us: await roundTrips(device, step, samples) });
  put('mapping 4 bytes', { us: await maps(device, counter, samples) });
  throttlePolling();
  put("mapping 4 bytes, with the engine's throttle", { us: await maps(device, counter, samples) });
  device.free(counter);
}

/** Microseconds of a dispatch on the GPU, of encoding it, and of all by the clock. */
async function chained(device, step, dispatches, passes) {
  const { gpu } = device;
  const hasStamps = gpu.features.has('timestamp-query');
  const querySet = hasStamps ? gpu.createQuerySet({ type: 'timestamp', count: 2 }) : null;
  const begun = performance.now();
  const encoder = gpu.createCommandEncoder();
  for (let pass = 0; pass < passes; pass++) {
    const writes = {
      querySet,
      ...(pass === 0 && { beginningOfPassWriteIndex: 0 }),
      ...(pass === passes - 1 && { endOfPassWriteIndex: 1 }),
    };
    const isEdge = hasStamps && (pass === 0 || pass === passes - 1);
    encodePass(encoder, isEdge ? { timestampWrites: writes } : {}, [step], dispatches / passes);
  }
  const encodedMs = performance.now() - begun;
  const figures = { encodeUs: (1000 * encodedMs) / dispatches };
  if (!hasStamps) {
    gpu.queue.submit([encoder.finish()]);
    await gpu.queue.onSubmittedWorkDone();
    return { us: (1000 * (performance.now() - begun - encodedMs)) / dispatches, ...figures };
  }
  const [first, last] = await resolveStamps(device, encoder, querySet, 2);
  querySet.destroy();
  return { us: Number(last - first) / 1000 / dispatches, ...figures };
}

async function calls({ gpu }, step, samples) {
  const times = [];
  for (let i = 0; i < samples; i++) {
    const encoder = gpu.createCommandEncoder();
    encodePass(encoder, {}, [step]);
    const commands = encoder.finish();
    const begun = performance.now();
    gpu.queue.submit([commands]);
    times.push(1000 * (performance.now() - begun));
    await gpu.queue.onSubmittedWorkDone();
  }
  return median(times);
}

async function roundTrips({ gpu }, step, samples) {
  const times = [];
  for (let i = 0; i < samples; i++) {
    const encoder = gpu.createCommandEncoder();
    encodePass(encoder, {}, [step]);
    const commands = encoder.finish();
    const begun = performance.now();
    gpu.queue.submit([commands]);
    await gpu.queue.onSubmittedWorkDone();
    times.push(1000 * (performance.now() - begun));
  }
  return median(times);
}

async function maps({ gpu }, source, samples) {
  const staging = gpu.createBuffer({ size: 4, usage: MAP_READ_COPY_DST });
  const times = [];
  for (let i = 0; i < samples; i++) {
    const encoder = gpu.createCommandEncoder();
    encoder.copyBufferToBuffer(source, 0, staging, 0, 4);
    const begun = performance.now();
    gpu.queue.submit([encoder.finish()]);
    await staging.mapAsync(1);
    times.push(1000 * (performance.now() - begun));
    staging.unmap();
  }
  staging.destroy();
  return median(times);
}
