// GPU time of dispatches: as many turns of them in one pass between two timestamps as fill a stretch of time that no clock's steps distort.

const QUERY_RESOLVE = 0x200;
const COPY_SRC = 0x4;
const REPEATS = 3;
const MOST_DISPATCHES = 20_000;

/** Length of a measurement in milliseconds, and the longest that all repeats of one may take. */
export const USUAL = { leastMs: 10, mostMs: 400 };
/** For software adapters and tests: a single turn. */
export const SINGLE = { leastMs: 0, mostMs: 0 };

/**
 * Milliseconds of one turn of `steps`, the least of several measurements. The first turn compiles and is not measured.
 * @param {{ pipeline: object, bindGroup: object, groups: number[] }[]} steps
 */
export async function timeTurns(device, steps, { leastMs, mostMs } = USUAL) {
  await timePass(device, steps, 1);
  let best = await timePass(device, steps, 1);
  if (best >= leastMs && (best > mostMs || leastMs === 0)) return best;
  const most = Math.max(1, Math.floor(MOST_DISPATCHES / steps.length));
  const turns = Math.min(most, Math.ceil(leastMs / Math.max(best, 1e-3)));
  let spent = 0;
  for (let i = 0; i < REPEATS && spent <= mostMs; i++) {
    const took = await timePass(device, steps, turns);
    spent += took;
    best = Math.min(turns > 1 && i === 0 ? Infinity : best, took / turns);
  }
  return best;
}

/** Milliseconds of `turns` turns in one pass. */
async function timePass(device, steps, turns) {
  const { gpu } = device;
  if (!gpu.features.has('timestamp-query')) return timeByClock(gpu, steps, turns);
  const querySet = gpu.createQuerySet({ type: 'timestamp', count: 2 });
  const encoder = gpu.createCommandEncoder();
  const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  encodePass(encoder, { timestampWrites }, steps, turns);
  const [begun, ended] = await resolveStamps(device, encoder, querySet, 2);
  querySet.destroy();
  return Number(ended - begun) / 1e6;
}

async function timeByClock(gpu, steps, turns) {
  const encoder = gpu.createCommandEncoder();
  encodePass(encoder, {}, steps, turns);
  const begun = performance.now();
  gpu.queue.submit([encoder.finish()]);
  await gpu.queue.onSubmittedWorkDone();
  return performance.now() - begun;
}

export function encodePass(encoder, descriptor, steps, turns = 1) {
  const pass = encoder.beginComputePass(descriptor);
  for (let turn = 0; turn < turns; turn++) {
    for (const { pipeline, bindGroup, groups } of steps) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindGroup);
      pass.dispatchWorkgroups(...groups);
    }
  }
  pass.end();
}

/** Submits what the encoder holds; nanoseconds of the first `count` stamps. */
export async function resolveStamps(device, encoder, querySet, count) {
  const size = 8 * count;
  const buffer = device.gpu.createBuffer({ size, usage: QUERY_RESOLVE | COPY_SRC });
  encoder.resolveQuerySet(querySet, 0, count, buffer, 0);
  device.gpu.queue.submit([encoder.finish()]);
  const stamps = [...new BigUint64Array(await device.read({ buffer, offset: 0, size }))];
  buffer.destroy();
  return stamps;
}
