// Whether the adapter keeps subnormal numbers, which scales of packed weights may be.

import { dispatchOf, pipelineOf } from './open-device.mjs';

/** Halves that are subnormal: the least, the middle and the largest one; and the least normal one. */
const HALVES = [0x0001, 0x0200, 0x03ff, 0x0400];
const SUBNORMALS = 3;

/** @param {'unpack' | 'arithmetic'} how halves are read */
export function f16Probe(how) {
  return async (device) => {
    if (how === 'arithmetic' && !device.gpu.features.has('shader-f16')) return { value: 'no shader-f16' };
    const words = await run(device, `f16-${how}.wgsl`, HALVES);
    const seen = new Float32Array(words.buffer);
    const kept = HALVES.map((half, i) => seen[2 * i] === half * 2 ** -24);
    // The same numbers, times 1,024.
    const multiplied = HALVES.map((half, i) => seen[2 * i + 1] === half * 2 ** -14);
    return verdict(kept, multiplied, 'as they are', 'multiplied');
  };
}

export async function f32Probe(device) {
  const bits = [0x00000001, 0x00200000, 0x007fffff, 0x00800000];
  const words = await run(device, 'f32-subnormals.wgsl', bits);
  const seen = new Float32Array(words.buffer);
  const kept = bits.map((word, i) => words[2 * i] === word);
  const multiplied = bits.map((word, i) => seen[2 * i + 1] === word * 2 ** -125);
  return verdict(kept, multiplied, 'loaded and stored', 'multiplied');
}

function verdict(kept, multiplied, plain, product) {
  const word = (list) => {
    const count = list.slice(0, SUBNORMALS).filter(Boolean).length;
    return count === SUBNORMALS ? 'kept' : count === 0 ? 'flushed' : 'some kept';
  };
  const normal = kept[SUBNORMALS] && multiplied[SUBNORMALS] ? '' : ' (the least normal number is wrong)';
  return {
    value: `${plain} ${word(kept)}, ${product} ${word(multiplied)}${normal}`,
    kept: word(kept),
    multiplied: word(multiplied),
  };
}

/** Two words for each word that is given. */
async function run(device, file, given) {
  const source = device.allocate('step', 'source', 4 * given.length);
  const sink = device.allocate('step', 'sink', 8 * given.length);
  device.gpu.queue.writeBuffer(source, 0, Uint32Array.from(given));
  const { pipeline, bindGroup, groups } = dispatchOf(device, pipelineOf(device, file), {
    bound: { source, sink },
    groups: [1],
  });
  const encoder = device.gpu.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, bindGroup);
  pass.dispatchWorkgroups(...groups);
  pass.end();
  device.gpu.queue.submit([encoder.finish()]);
  return new Uint32Array(await device.read({ buffer: sink, offset: 0, size: 8 * given.length }));
}
