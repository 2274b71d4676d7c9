// Bytes that a page's requests take on the device in a format, padding and windows included: exactly those that placing allocates.

import { allocatedBytes, tensorBytes } from '../../gpu/tensor.ts';
import { FORMATS, SOURCES, type QuantizedFormat, type WeightFormat } from '../../kernels/formats.ts';
import { planWindows, type WindowPlan } from '../../kernels/matrix.ts';
import { mayQuantise, tensorsOf, type WeightRequest } from '../../models/weights.ts';

export interface PlanOptions {
  /** The format of what may be quantised; null: as stored. */
  format: WeightFormat | null;
  /** Bytes that one binding may span. */
  bindingLimit: number;
  /** Whether convolutions of stride 1 are stored in Winograd's form, where that gains. */
  winograd: boolean;
}

export interface PlannedRequest {
  request: WeightRequest;
  /** null: f32 values of a vector or a table. */
  matrix: { format: WeightFormat; winograd: boolean; windows: readonly WindowPlan[] } | null;
  /** Bytes of the vector or table, or of the matrix's bias; 0: it has none. */
  floats: number;
  /** Bytes allocated for all of it. */
  bytes: number;
}

export interface WeightPlan {
  requests: readonly PlannedRequest[];
  bytes: number;
}

/** Winograd's form gains where inputs and outputs are at least this many. */
const WINOGRAD_CHANNELS = 32;

/** The format that a choice of `quantization` stands for; null: as stored. */
export function formatOf(quantization: 'none' | QuantizedFormat): WeightFormat | null {
  return quantization === 'none' ? null : FORMATS[quantization];
}

/** `dtypeOf`: the type that a tensor is stored in, as safetensors files name it. Throws unsupported for what no binding takes. */
export function planWeights(
  requests: readonly WeightRequest[],
  dtypeOf: (name: string) => string,
  options: PlanOptions,
): WeightPlan {
  const planned = requests.map((request) => planRequest(request, dtypeOf, options));
  return { requests: planned, bytes: planned.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function planRequest(
  request: WeightRequest,
  dtypeOf: (name: string) => string,
  { format: wanted, bindingLimit, winograd: mayTransform }: PlanOptions,
): PlannedRequest {
  const { layout, rows, k, experts, kernel, bias, names } = request;
  if (layout === 'vector' || layout === 'table') {
    const floats = tensorBytes(layout === 'vector' ? [rows[0]!] : [rows[0]!, k], {});
    return { request, matrix: null, floats, bytes: allocatedBytes(floats) };
  }
  const winograd = mayTransform && gainsByWinograd(request);
  const quantised = mayQuantise(request.role) ? wanted : null;
  // Sums of nine weights need more digits than the weights do.
  const format = winograd ? FORMATS.f32 : (quantised ?? storedFormat(names.map(dtypeOf)));
  const columns = rows.reduce((sum, count) => sum + count, 0) / experts;
  const shape = { k, columns, kernel, experts, name: names[0]! };
  const windows = planWindows(shape, { format, winograd, bindingLimit });
  const floats = bias ? tensorBytes([columns], {}) : 0;
  const pieces = [floats, ...windows.flatMap(({ codes, scales }) => [codes, scales])];
  const bytes = pieces.filter((size) => size > 0).reduce((sum, size) => sum + allocatedBytes(size), 0);
  return { request, matrix: { format, winograd, windows }, floats, bytes };
}

function gainsByWinograd({ role, kernel, stride, rows, k }: WeightRequest): boolean {
  return role === 'conv' && kernel === 3 && stride === 1 && Math.min(rows[0]!, k) >= WINOGRAD_CHANNELS;
}

/** Parts of one matrix share a format; parts stored differently meet in f32, which holds them all. */
function storedFormat(dtypes: readonly string[]): WeightFormat {
  const formats = new Set(dtypes.map((dtype) => SOURCES[dtype] ?? 'f32'));
  return formats.size === 1 ? FORMATS[[...formats][0]!] : FORMATS.f32;
}

/** Numbers in all tensors that the requests read, each tensor counted once. */
export function parametersOf(requests: readonly WeightRequest[]): number {
  const shapes = new Map(requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  return [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
}
