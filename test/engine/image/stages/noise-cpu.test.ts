// Both noise streams against torch (scripts/reference/noise.py): words and uniforms exactly, normals exactly where the same
// vector code makes them and within two units in the last place elsewhere.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { cpuNoise, fused, mersenneTwister } from '../../../../src/engine/image/stages/noise-cpu.ts';
import { angleOf, cudaNoise, philox, unitOf } from '../../../../src/engine/image/stages/noise-cuda.ts';

interface Golden {
  counts: number[];
  cpu: { seed: number; words: string[]; uniforms: number[]; normals: number[][]; digest: string }[];
  cuda: {
    published: number[];
    words: { seed: number; call: number; words: number[][]; uniforms: [number, number][] }[];
    runs: {
      seed: number;
      limits: [multiprocessors: number, threadsEach: number];
      tensors: { count: number; places: number[]; normals: number[] }[];
    }[];
  };
}

const golden = new URL('../../../golden/noise.json', import.meta.url);
const { counts, cpu, cuda }: Golden = JSON.parse(readFileSync(golden, 'utf8'));

/** Index of an f32 in the ordering of all f32 values. */
function place(value: number): number {
  const [bits = 0] = new Int32Array(Float32Array.of(value).buffer);
  return bits < 0 ? -(bits & 0x7fffffff) : bits;
}

function farthest(got: readonly number[], wanted: readonly number[]): number {
  return Math.max(...wanted.map((value, i) => Math.abs(place(got[i] ?? Number.NaN) - place(value))));
}

test('fused operations are rounded once', () => {
  // The products lie 2⁻⁷⁰ below half of the distance between neighbours of 1, which f64 rounds away.
  const odd = 1 + 2 ** -23;
  const [below, above] = [1 - 2 ** -23, 1 + 2 ** -23];
  expect(fused(2 ** -24 * above, below, odd)).toBe(odd);
  expect(fused(-(2 ** -24) * above, below, -odd)).toBe(-odd);
  expect(fused(2 ** -24, 1, odd)).toBe(1 + 2 ** -22);
  expect(fused(-(2 ** -24) * above, below, odd)).toBe(odd);
});

test.each(cpu)('CPU words and uniforms of seed $seed', ({ seed, words, uniforms }) => {
  const word = mersenneTwister(seed % 2 ** 32);
  const got = words.map(() => [word(), word()].map((half) => half.toString(16).padStart(8, '0')).join(''));
  expect(got).toEqual(words);
  const again = mersenneTwister(seed % 2 ** 32);
  expect(uniforms.map(() => (again() & 0xffffff) * 2 ** -24)).toEqual(uniforms.map(Math.fround));
});

test.each(cpu)('CPU normals of seed $seed, call after call', ({ seed, normals }) => {
  const stream = cpuNoise(seed);
  for (const [i, count] of counts.entries()) {
    const got = [...stream.normals(count)];
    if (count >= 16) expect(got, `${count} numbers`).toEqual(normals[i]?.map(Math.fround));
    else expect(farthest(got, normals[i] ?? []), `${count} numbers`).toBeLessThanOrEqual(2);
  }
});

test.each(cpu)('a whole latent tensor of seed $seed', ({ seed, digest }) => {
  const latents = cpuNoise(seed).normals(4 * 64 * 64);
  expect(createHash('sha256').update(new Uint8Array(latents.buffer)).digest('hex')).toBe(digest);
});

test.each(cuda.words)('CUDA words and uniforms of seed $seed', ({ seed, call, words, uniforms }) => {
  for (const [thread, wanted] of words.entries()) {
    const got = new Uint32Array(4);
    philox(call, thread, [seed % 2 ** 32, Math.floor(seed / 2 ** 32)], got);
    expect([...got]).toEqual(wanted);
    expect([unitOf(got[0] ?? 0), angleOf(got[1] ?? 0)]).toEqual(uniforms[thread]?.map(Math.fround));
  }
});

test.each(cuda.runs)('CUDA normals of seed $seed on a GPU of $limits', ({ seed, limits, tensors }) => {
  const stream = cudaNoise(seed, { multiprocessors: limits[0], threadsEach: limits[1] });
  for (const { count, places, normals } of tensors) {
    const values = stream.normals(count);
    const got = places.map((at) => values[at] ?? Number.NaN);
    expect(farthest(got, normals), `${count} numbers`).toBeLessThanOrEqual(2);
  }
});

test('CUDA normals of seed 0 are the published ones', () => {
  const got = cudaNoise(0).normals(cuda.published.length);
  for (const [i, wanted] of cuda.published.entries())
    expect(Math.abs((got[i] ?? Number.NaN) - wanted)).toBeLessThan(1e-6);
});

test('a small GPU takes several random numbers a thread, a large one does not', () => {
  const small = cudaNoise(0, { multiprocessors: 3, threadsEach: 2048 }).normals(16384);
  const large = cudaNoise(0).normals(16384);
  const threads = 3 * 8 * 256;
  expect(small.subarray(0, threads)).toEqual(large.subarray(0, threads));
  expect(small[threads]).not.toBe(large[threads]);
});

test('random normals have the distribution of normals', () => {
  for (const stream of [cpuNoise(7), cudaNoise(7)]) {
    const values = stream.normals(1 << 16);
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
    const variance = values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.01);
    expect(Math.abs(variance - 1)).toBeLessThan(0.02);
  }
});
