// Weights as a low-rank part and the rest in 4 bits: W · s = up · down + rest, so that W · x = rest · (x / s) + up · (down · (x / s)). Activations stay as
// they are, so nothing but the weights is rounded. Factors are rounded before the rest is taken, which makes up for it.

import { bfloatBits, bfloatValue, halfValues } from '../../../files/tensors/half-values.ts';
import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import { wholeOf } from '../../../gpu/memory.ts';
import type { Device } from '../../../gpu/device.ts';
import { addProduct, lowRankOf, type BestFactors, type MatrixInStrips } from './low-rank.ts';
import { factorOf, roundToFloats, roundToIntegers } from './round.ts';
import type { SvdquantSettings } from './settings.ts';
import type { Target } from './targets.ts';

/** A tensor of the result by its name, as bytes. */
export interface QuantizedPiece {
  name: string;
  bytes: Uint8Array;
}

/** Names of the tensors that stand for a weight. */
export const pieceNames = (name: string) => ({
  codes: `${name}.codes`,
  scales: `${name}.scales`,
  factor: `${name}.factor`,
  down: `${name}.down`,
  up: `${name}.up`,
  smooth: `${name}.smooth`,
});

/** Throws out_of_memory, and the errors of reading. */
export async function quantized(
  device: Device,
  { names, rows, k }: Target,
  tensors: ReadonlyMap<string, TensorEntry>,
  settings: SvdquantSettings,
): Promise<QuantizedPiece[]> {
  const values = await rowsOf(names.map((name) => tensors.get(name)!));
  const rates = smoothingOf(values, k, settings.smoothing);
  if (rates !== null) for (let i = 0; i < values.length; i++) values[i]! *= rates[i % k]!;
  const all = values.length / k;
  const { factors, rest } = await divided(
    device,
    values,
    settings.rank,
    rates ?? new Float32Array(k).fill(1),
  );
  const [first] = names as [string];
  const shared = pieceNames(first);
  const pieces: QuantizedPiece[] = [{ name: shared.down, bytes: inBfloat(factors.down) }];
  if (rates !== null) {
    const smooth = new Float32Array(2 * k);
    rates.forEach((rate, i) => (smooth[i] = 1 / rate));
    pieces.push({ name: shared.smooth, bytes: new Uint8Array(smooth.buffer) });
  }
  const factor = settings.precision === 'nvfp4' ? factorOf(rest) : null;
  if (factor !== null)
    pieces.push({ name: shared.factor, bytes: new Uint8Array(Uint32Array.of(factor).buffer) });
  let above = 0;
  for (const [i, name] of names.entries()) {
    const own = rest.subarray(above * k, (above + rows[i]!) * k);
    const { codes, scales, up } = pieceNames(name);
    const made = factor === null ? roundToIntegers(own, settings.groupKs) : roundToFloats(own, factor);
    const { buffer, byteOffset, byteLength } = made.scales;
    const ups = factors.up.subarray(above * settings.rank, (above + rows[i]!) * settings.rank);
    pieces.push(
      { name: codes, bytes: made.codes },
      { name: scales, bytes: new Uint8Array(buffer, byteOffset, byteLength) },
      { name: up, bytes: inBfloat(ups) },
    );
    above += rows[i]!;
  }
  if (above !== all) throw new Error(`${first}: ${all} rows were read, and ${above} were asked for`);
  return pieces;
}

/** The factors, rounded, and what they leave. The factor that reads inputs reads them as they are, before `rates` divide them. */
async function divided(
  device: Device,
  values: Float32Array<ArrayBuffer>,
  rank: number,
  rates: Float32Array,
): Promise<{ factors: BestFactors; rest: Float32Array }> {
  const k = rates.length;
  const matrix = placed(device, values, k);
  try {
    const found = await lowRankOf(device, matrix, rank);
    const up = rounded(found.up);
    const down = rounded(found.down.map((value, i) => value / rates[i % k]!));
    addProduct(device, matrix, { up, down: down.map((value, i) => value * rates[i % k]!) }, -1);
    const factors = { up, down };
    for (const { region, first, rows } of matrix.strips)
      values.set(new Float32Array(await device.read(region), 0, rows * k), first * k);
    return { factors, rest: values };
  } finally {
    for (const { region } of matrix.strips) device.free(region.buffer);
  }
}

function placed(device: Device, values: Float32Array<ArrayBuffer>, k: number): MatrixInStrips {
  const rows = values.length / k;
  const most = Math.max(1, Math.floor(device.capabilities.bindingLimit / (4 * k)));
  const strips: MatrixInStrips['strips'][number][] = [];
  try {
    for (let first = 0; first < rows; first += most) {
      const count = Math.min(most, rows - first);
      const buffer = device.allocate('step', 'weights to be quantized', 4 * count * k);
      strips.push({ region: wholeOf(buffer), first, rows: count });
      device.gpu.queue.writeBuffer(buffer, 0, values, first * k, count * k);
    }
  } catch (error) {
    for (const { region } of strips) device.free(region.buffer);
    throw error;
  }
  return { rows, k, strips };
}

/** Rows of several tensors of numbers, one after the other. */
async function rowsOf(entries: readonly TensorEntry[]): Promise<Float32Array<ArrayBuffer>> {
  const parts: Float32Array[] = [];
  for (const { source, offset, bytes, dtype } of entries) {
    const read = await source.read(offset, bytes);
    parts.push(
      dtype === 'F32' ? new Float32Array(read.buffer) : halfValues(new Uint16Array(read.buffer), dtype),
    );
  }
  const all = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** What each column is multiplied by: a power of its largest magnitude, relative to the others; null: nothing. */
function smoothingOf(values: Float32Array, k: number, share: number): Float32Array | null {
  if (share === 0) return null;
  const most = new Float32Array(k);
  values.forEach((value, i) => (most[i % k] = Math.max(most[i % k]!, Math.abs(value))));
  const logs = most.map((value) => (value > 0 ? Math.log(value) : 0));
  const mean = logs.reduce((sum, value) => sum + value, 0) / k;
  return logs.map((value, i) => (most[i] === 0 ? 1 : Math.exp(-share * (value - mean))));
}

const rounded = (values: Float32Array): Float32Array<ArrayBuffer> =>
  Float32Array.from(values, (value) => bfloatValue(bfloatBits(value)));

/** In BF16, in whole words. */
function inBfloat(values: Float32Array): Uint8Array {
  const bits = new Uint16Array(values.length + (values.length % 2));
  values.forEach((value, i) => (bits[i] = bfloatBits(value)));
  return new Uint8Array(bits.buffer);
}
