// Bytes that a page's requests take on the device in a format, including padding and windows: exactly the bytes that placing them
// allocates.

import { allocatedBytes, tensorBytes } from '../../gpu/tensor.ts';
import { FORMATS, SOURCES, type QuantizedFormat, type WeightFormat } from '../../kernels/formats.ts';
import { planWindows, type WindowPlan } from '../../kernels/matrix.ts';
import { mayQuantise, tensorsOf, type WeightRequest } from '../../models/weights.ts';

export interface PlanOptions {
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
  matrix: { format: WeightFormat; winograd: boolean; windows: readonly WindowPlan[] } | null;
  /** Bytes of the vector or table, or of the matrix's bias; 0: none. */
  floats: number;
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
  // Winograd's form needs f32, because its values are sums of nine weights.
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

/** Returns the common format of a matrix's parts; parts that are stored in different formats are widened to f32. */
function storedFormat(dtypes: readonly string[]): WeightFormat {
  const formats = new Set(dtypes.map((dtype) => SOURCES[dtype] ?? 'f32'));
  return formats.size === 1 ? FORMATS[[...formats][0]!] : FORMATS.f32;
}

/** Counts the numbers in all tensors that the requests read, each tensor once. */
export function parametersOf(requests: readonly WeightRequest[]): number {
  const shapes = new Map(requests.flatMap(tensorsOf).map(({ name, shape }) => [name, shape]));
  return [...shapes.values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);
}
