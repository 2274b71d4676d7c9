// Bytes that a page's requests take on the device in a format, including padding and windows: exactly the bytes that placing them
// allocates.

import { option, say } from '../../files/message.ts';
import { unsupported } from '../../files/error.ts';
import { allocatedBytes, tensorBytes } from '../../gpu/tensor.ts';
import {
  FORMATS,
  formatOfSource,
  isFlat,
  SOURCES,
  storedBlock,
  type QuantizedFormat,
  type WeightFormat,
} from '../../kernels/formats.ts';
import { GROUP, type MatrixPart } from '../../kernels/matrix.ts';
import { planWindows, wholly, type FormatSpan, type WindowPlan } from '../../kernels/matrix-windows.ts';
import { biasSize, mayQuantise, partsOf, tensorsOf, type WeightRequest } from '../../models/weights.ts';

export interface WeightPlanOptions {
  /** Format of the matrices that may be quantized; null: the format of the file. */
  format: WeightFormat | null;
  /** Largest number of bytes in one binding. */
  bindingLimit: number;
  /** Whether convolutions of stride 1 are stored in Winograd's form if that is faster. */
  winograd: boolean;
}

export interface PlannedRequest {
  request: WeightRequest;
  /** null: f32 values of a vector or a table. */
  matrix: { spans: readonly FormatSpan[]; winograd: boolean; windows: readonly WindowPlan[] } | null;
  /** Bytes of the vector or table, or of the matrix's bias; 0: none. */
  floats: number;
  /** Bytes of the order of a matrix's inputs; 0: none. */
  order: number;
  /** Bytes allocated in total. */
  bytes: number;
}

export interface WeightPlan {
  requests: readonly PlannedRequest[];
  bytes: number;
}

/** Winograd's form is used for convolutions with at least this many input and output channels. */
const WINOGRAD_CHANNELS = 32;

/** Returns the format for a value of `quantization`; null: the format of the file. */
export function formatOf(quantization: 'none' | QuantizedFormat): WeightFormat | null {
  return quantization === 'none' ? null : FORMATS[quantization];
}

/**
 * `dtypeOf`: returns a tensor's stored type by the safetensors names. Throws unsupported for a matrix that exceeds the binding
 * limit.
 */
export function planWeights(
  requests: readonly WeightRequest[],
  dtypeOf: (name: string) => string,
  options: WeightPlanOptions,
): WeightPlan {
  const planned = requests.map((request) => planRequest(request, dtypeOf, options));
  return { requests: planned, bytes: planned.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function planRequest(
  request: WeightRequest,
  dtypeOf: (name: string) => string,
  { format: wanted, bindingLimit, winograd: mayTransform }: WeightPlanOptions,
): PlannedRequest {
  const { layout, rows, k, experts, kernel, bias, names, orders = [] } = request;
  if (orders.length > 0) refuseBlocks(names, dtypeOf);
  if (layout === 'vector' || layout === 'table') {
    const floats = tensorBytes(layout === 'vector' ? [rows[0]!] : [rows[0]!, k], {});
    return { request, matrix: null, floats, order: 0, bytes: allocatedBytes(floats) };
  }
  const winograd = mayTransform && gainsByWinograd(request);
  const keeps = keepsCodes(request, dtypeOf) || !packsInto(wanted, names, dtypeOf);
  const quantised = mayQuantise(request.role) && !keeps ? wanted : null;
  if (quantised?.packing === 'quantise') refuseCodes(names, dtypeOf, quantised);
  // Winograd's form needs f32, because its values are sums of nine weights.
  const spans = winograd
    ? wholly(FORMATS.f32)
    : quantised
      ? wholly(quantised)
      : storedSpans(request, dtypeOf);
  const columns = rows.reduce((sum, count) => sum + count, 0) / experts;
  const shape = { k: k * Math.max(1, orders.length), columns, kernel, experts, name: names[0]! };
  const windows = planWindows(shape, { spans, winograd, bindingLimit });
  const floats = bias ? tensorBytes([biasSize({ columns, experts })], {}) : 0;
  const order = orders.length > 0 ? tensorBytes([1, shape.k], {}) : 0;
  const pieces = [floats, order, ...windows.flatMap(({ codes, scales }) => [codes, scales])];
  const bytes = pieces.filter((size) => size > 0).reduce((sum, size) => sum + allocatedBytes(size), 0);
  return { request, matrix: { spans, winograd, windows }, floats, order, bytes };
}

function gainsByWinograd({ role, kernel, stride, rows, k }: WeightRequest): boolean {
  return role === 'conv' && kernel === 3 && stride === 1 && Math.min(rows[0]!, k) >= WINOGRAD_CHANNELS;
}

/** Experts that a file holds in codes stay so beside other matrices that are quantized. */
export function keepsCodes(
  { role, names }: Pick<WeightRequest, 'role' | 'names'>,
  dtypeOf: (name: string) => string,
): boolean {
  return role === 'expert' && names.every((name) => storedAs(dtypeOf(name)).packing === 'stored');
}

/** Whether numbers in a format can be made of tensors; codes whose scales other tensors hold stay codes where f32 is wanted. */
function packsInto(
  wanted: WeightFormat | null,
  names: readonly string[],
  dtypeOf: (name: string) => string,
): boolean {
  if (wanted?.packing !== 'number') return true;
  return names.every((name) => wanted.sources.includes(SOURCES[dtypeOf(name)] ?? 'f32'));
}

/** Codes of a file are never rounded to others. */
function refuseCodes(
  names: readonly string[],
  dtypeOf: (name: string) => string,
  wanted: WeightFormat,
): void {
  const name = names.find((each) => storedAs(dtypeOf(each)).packing === 'stored');
  if (name === undefined) return;
  throw unsupported(
    say`the weights are quantized already (${name} is ${dtypeOf(name)}) and are computed as they are: leave out ${option('quantization')} ${wanted.name}, or take the checkpoint that they were made from`,
    name,
  );
}

/** Blocks that a file holds are not laid out beside inputs in another order. */
function refuseBlocks(names: readonly string[], dtypeOf: (name: string) => string): void {
  const name = names.find((each) => storedBlock(SOURCES[dtypeOf(each)] ?? 'f32') !== null);
  if (name === undefined) return;
  throw unsupported(
    `tensor ${name} is ${dtypeOf(name)}, and tensors that are computed with it have their inputs in another order (g_idx): choose another quantized checkpoint`,
    name,
  );
}

/** The format of matrices whose tensors have this type. */
export const storedAs = (dtype: string): WeightFormat =>
  isFlat(dtype) ? FORMATS.f16 : formatOfSource(SOURCES[dtype] ?? 'f32');

/**
 * Formats of a matrix whose parts stay as they are stored: one where they agree, else spans of columns where each part begins with a
 * group of its own. Others meet in f32, which holds them all, and so do parts that are numbers.
 */
function storedSpans(request: WeightRequest, dtypeOf: (name: string) => string): readonly FormatSpan[] {
  const parts = partsOf(request).map((part) => ({ part, format: storedAs(dtypeOf(part.name)) }));
  const changes = parts.filter(({ format }, i) => format !== parts[i - 1]?.format);
  const hasCodes = parts.some(({ format }) => format.packing === 'stored');
  const isWhole = changes.length === 1 && !(hasCodes && request.kernel > 1);
  if (isWhole) return wholly(changes[0]!.format);
  // The values of a 3×3 kernel stand together, and a block of codes spans several.
  const isCut = hasCodes && request.kernel === 1 && changes.every(({ part }) => beginsGroup(part));
  if (!isCut) return wholly(numbersOf(request, dtypeOf));
  return changes.map(({ part, format }) => ({ format, firstGroup: part.placement.firstColumn / GROUP }));
}

/** The format in which parts that are stored differently meet. Throws unsupported for codes whose scales stand in another tensor. */
function numbersOf({ names }: WeightRequest, dtypeOf: (name: string) => string): WeightFormat {
  const format: WeightFormat = FORMATS.f32;
  const name = names.find((each) => !format.sources.includes(SOURCES[dtypeOf(each)] ?? 'f32'));
  if (name === undefined) return format;
  throw unsupported(
    `tensor ${name} is ${dtypeOf(name)}, and ${names.find((each) => dtypeOf(each) !== dtypeOf(name)) ?? name}, which is computed with it, is not: choose a checkpoint that stores both alike`,
    name,
  );
}

/** Whether a part's columns follow one another from a group's first on. */
function beginsGroup({ rows, placement: { firstColumn, unit } }: MatrixPart): boolean {
  return firstColumn % GROUP === 0 && unit >= rows;
}

/** Counts the numbers in all tensors that the requests read, each tensor once. */
export function parametersOf(requests: readonly WeightRequest[]): number {
  const shapes = new Map(requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  return [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
}
