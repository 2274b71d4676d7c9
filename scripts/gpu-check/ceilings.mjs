// Stage 2: what the adapter can do at most: bytes and operations per second by timestamps over at least 10 ms of work, and the costs of dispatches,
// submits and reading back.

import { throttlePolling } from '../../dist/gpu/polling.js';
import { configName, matrixConfigs } from './adapter.mjs';
import { latencies } from './latencies.mjs';
import { addOwnShader, dispatchOf, openFully, pipelineOf } from './open-device.mjs';
import { SINGLE, timeTurns, USUAL } from './timestamps.mjs';

/** Invocations of a kernel of arithmetic, bytes that a kernel of reading reads, and turns of a loop. */
const FULL = { invocations: 2 ** 20, bytes: 2 ** 30, turns: 512, matrixTurns: 256 };
const SMALL = { invocations: 2 ** 10, bytes: 2 ** 22, turns: 16, matrixTurns: 4 };
const WORKGROUP = 64;
const READ_WORKGROUP = 256;
/** Bytes that an invocation of loads.wgsl reads in a turn of its loop, and reads.wgsl in one. */
const PACKED_BYTES = 32;
const CONTIGUOUS_BYTES = 64;

export async function measure({ small, sink }) {
  const { device, adapter } = await openFully();
  const work = { device, sink, ...(small ? { ...SMALL, times: SINGLE } : { ...FULL, times: USUAL }) };
  const rates = {};
  const run = async (key, name, one) => {
    try {
      const figures = await one(work);
      const failure = device.takeError();
      if (failure) throw failure;
      if (figures === null) return;
      Object.assign(rates, Object.fromEntries([[key, figures.rate]]));
      sink.row('rates', { name, ...figures });
      sink.put('best', rates);
    } catch (error) {
      sink.row('rates', { name, error: error.message });
    }
  };
  await run('readGbytes', 'read, contiguous', readContiguous);
  await run('packedReadGbytes', "read, in the packed weights' pattern", readPacked);
  for (const [key, name, file, operations, feature] of ARITHMETIC) {
    if (feature !== null && !device.gpu.features.has(feature)) continue;
    await run(key, name, (given) => arithmetic(given, file, operations));
  }
  for (const config of matrixConfigs(adapter))
    await run(matrixKey(config), `subgroup matrices, ${configName(config)}`, (given) =>
      matrices(given, config),
    );
  await latencies(work, { small, throttlePolling });
}

/** Key, name, kernel, operations of a turn of its loop in one invocation, feature. */
const ARITHMETIC = [
  ['f32Tflops', 'f32 multiply-add', '../bench/fma.wgsl', 128, null],
  ['f16Tflops', 'f16 multiply-add', 'fma-f16.wgsl', 256, 'shader-f16'],
  ['dot4Tops', 'dot4I8Packed with an addition', 'dot4.wgsl', 512, null],
  ['shufflesTera', 'subgroup shuffles', 'shuffles.wgsl', 16, 'subgroups'],
];

/** @returns {number} the larger rate of reading among the best ones of a report, or 0 */
export function readCeiling({ readGbytes = 0, packedReadGbytes = 0 }) {
  return Math.max(readGbytes, packedReadGbytes);
}

function matrixKey({ componentType, resultComponentType }) {
  return `matrix ${componentType} to ${resultComponentType}`;
}

async function arithmetic({ device, invocations, turns, times }, file, operations) {
  const sink = device.allocate('step', 'sink', 16 * invocations);
  const step = dispatchOf(device, pipelineOf(device, file), {
    bound: { sink },
    args: { turns },
    groups: [invocations / WORKGROUP],
  });
  const ms = await timeTurns(device, [step], times);
  device.free(sink);
  return perSecond('tera', operations * turns * invocations, ms);
}

function readContiguous(work) {
  return reads(work, 'reads.wgsl', READ_WORKGROUP, CONTIGUOUS_BYTES);
}

function readPacked(work) {
  return reads(work, '../bench/loads.wgsl', WORKGROUP, PACKED_BYTES);
}

async function reads({ device, bytes: wanted, times }, file, workgroup, turnBytes) {
  const { bindingLimit, maxBufferSize } = device.capabilities;
  const bytes = Math.min(wanted, 2 ** Math.floor(Math.log2(Math.min(bindingLimit, maxBufferSize))));
  const turns = 64;
  const invocations = bytes / turnBytes / turns;
  const source = device.allocate('step', 'source', bytes);
  const sink = device.allocate('step', 'sink', 16 * invocations);
  const step = dispatchOf(device, pipelineOf(device, file), {
    bound: { source, sink },
    args: { turns },
    groups: [invocations / workgroup],
  });
  const ms = await timeTurns(device, [step], times);
  device.free(source);
  device.free(sink);
  return perSecond('giga', bytes, ms);
}

/** Products of matrices in registers: eight independent sums for each subgroup. */
async function matrices({ device, invocations, matrixTurns: turns, times }, config) {
  const { componentType, resultComponentType, M, N, K } = config;
  const types = { f16: 'f16', f32: 'f32', u8: 'u8', i8: 'i8', u32: 'u32', i32: 'i32' };
  if (!types[componentType] || !types[resultComponentType])
    throw new Error(`no kernel for ${configName(config)}`);
  const workgroup = 2 * device.summary.subgroupMaxSize;
  const groups = Math.max(1, Math.floor(invocations / 16 / workgroup));
  addOwnShader(device, `matrix-elements.${componentType}.wgsl`);
  const pipeline = pipelineOf(device, 'matrix-fma.wgsl', {
    WORKGROUP: workgroup,
    ELEMENTS: componentType,
    C: componentType,
    R: resultComponentType,
    ROWS: M,
    COLUMNS: N,
    DEPTH: K,
  });
  const sink = device.allocate('step', 'sink', 4 * M * N);
  const sizes = device.allocate('step', 'sizes', 4);
  const source = device.allocate('step', 'source', 4 * Math.max(M, N) * K);
  device.gpu.queue.writeBuffer(source, 0, new Uint32Array(source.size / 4));
  const step = dispatchOf(device, pipeline, {
    bound: { sink, sizes, source },
    args: { turns },
    groups: [groups],
  });
  const ms = await timeTurns(device, [step], times);
  const [size] = new Uint32Array(await device.read({ buffer: sizes, offset: 0, size: 4 }));
  for (const buffer of [sink, sizes, source]) device.free(buffer);
  const operations = 2 * M * N * K * 8 * turns * groups * (workgroup / size);
  return { ...perSecond('tera', operations, ms), subgroupSize: size };
}

function perSecond(unit, amount, ms) {
  const rate = amount / ms / (unit === 'tera' ? 1e9 : 1e6);
  return {
    rate,
    unit,
    ms,
    ...(unit === 'giga' ? { gbytes: rate } : { value: `${rate.toPrecision(4)} T/s` }),
  };
}
