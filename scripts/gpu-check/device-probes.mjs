// Subgroup sizes that workgroups of several sizes get, and what timestamps are worth.

import { dispatchOf, pipelineOf } from './open-device.mjs';
import { encodePass, resolveStamps, timeTurns, SINGLE } from './timestamps.mjs';

const WORKGROUPS = [32, 64, 128, 256];
/** Passes between whose stamps differences are taken. */
const PASSES = 128;
/** Step of timestamps that Dawn quantizes, in nanoseconds. */
const QUANTIZED_STEP = 0x10000;

export async function subgroupProbe(device) {
  if (!device.gpu.features.has('subgroups')) return { value: 'no subgroups' };
  const sizes = [];
  for (const workgroup of WORKGROUPS) {
    if (workgroup > device.capabilities.maxInvocations) continue;
    const sink = device.allocate('step', 'sizes', 8 * workgroup);
    const pipeline = pipelineOf(device, 'subgroup-sizes.wgsl', { WORKGROUP: workgroup });
    await timeTurns(device, [dispatchOf(device, pipeline, { bound: { sink }, groups: [1] })], SINGLE);
    const words = new Uint32Array(await device.read({ buffer: sink, offset: 0, size: 8 * workgroup }));
    const pairs = Array.from({ length: workgroup }, (_, i) => [words[2 * i], words[2 * i + 1]]);
    sizes.push({
      workgroup,
      sizes: [...new Set(pairs.map(([size]) => size))],
      inOrder: pairs.every(([size, lane], i) => lane === i % size),
    });
    device.free(sink);
  }
  const value = sizes.map((one) => `${one.workgroup}: ${one.sizes.join(' and ')}`).join('; ');
  const note = sizes.every(({ inOrder }) => inOrder) ? '' : '; lanes are not in the order of invocations';
  return { value: value + note, sizes };
}

export async function timestampProbe(device) {
  const { gpu } = device;
  if (!gpu.features.has('timestamp-query')) return { value: 'none' };
  const sink = device.allocate('step', 'sink', 4);
  const step = dispatchOf(device, pipelineOf(device, 'empty.wgsl'), { bound: { sink }, groups: [1] });
  const querySet = gpu.createQuerySet({ type: 'timestamp', count: 2 * PASSES });
  const encoder = gpu.createCommandEncoder();
  for (let i = 0; i < PASSES; i++) {
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
    encodePass(encoder, { timestampWrites }, [step]);
  }
  const stamps = await resolveStamps(device, encoder, querySet, 2 * PASSES);
  querySet.destroy();
  device.free(sink);
  const passes = Array.from({ length: PASSES }, (_, i) => Number(stamps[2 * i + 1] - stamps[2 * i]));
  const differences = stamps.slice(1).map((stamp, i) => Number(stamp - stamps[i]));
  const steps = differences.filter((difference) => difference !== 0).map(Math.abs);
  const periodNs = steps.reduce(greatestDivisor, 0);
  const zeros = passes.filter((pass) => pass === 0).length;
  const backwards = differences.filter((difference) => difference < 0).length;
  const isQuantized = periodNs > 0 && periodNs % QUANTIZED_STEP === 0;
  return {
    value:
      `steps of ${periodNs} ns${isQuantized ? ', quantized' : ''}; an empty pass takes ${median(passes)} ns, ` +
      `${zeros} of ${PASSES} took none, ${backwards} stamps went backwards`,
    periodNs,
    isQuantized,
    zeros,
    backwards,
    emptyPassNs: median(passes),
  };
}

function greatestDivisor(a, b) {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

export function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
